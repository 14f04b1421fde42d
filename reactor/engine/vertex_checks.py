"""The check of one vertex in a run: deferred values and mounts before `check`, health and outputs after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import trio

from reactor.engine.batch_apply import BatchApplier
from reactor.engine.check import AS_DESIRED, CheckResult, check, inspected_paths
from reactor.engine.check_completion import CheckCompletion, Repairs, wanted_repairs
from reactor.engine.dispatcher import Dispatcher
from reactor.engine.event_recorder import Results
from reactor.engine.events import Cause
from reactor.engine.follow_up_checks import FollowUpChecks
from reactor.engine.group_check import GroupCheck
from reactor.engine.limits import DEFAULT_LIMITS
from reactor.engine.manifest_follower import ManifestFollower
from reactor.engine.noop import NoopJudge
from reactor.engine.options import RunOptions
from reactor.engine.outcome import Outcome
from reactor.engine.path_owners import PathOwners
from reactor.engine.prechecks import Prechecks
from reactor.engine.reversals import Reversals
from reactor.engine.run_store import RunStore
from reactor.engine.slots import SlotGate, SlotQueue
from reactor.resource.base import Resource
from reactor.resource.composite import Composite
from reactor.resource.mount_health import FragileMounts
from reactor.resource.plan import ResourceError
from reactor.resource.redaction import without_removed_lines

_REFRESH = Cause.REFRESH.value
_INITIAL = Cause.INITIAL.value
_HEALTH = Cause.HEALTH.value
_OK, _CHANGED, _FAILED = Outcome.OK, Outcome.CHANGED, Outcome.FAILED  # see its class
_KNOWN = (Outcome.OK, Outcome.CHANGED, Outcome.WOULD_CHANGE)
"""The outcomes of a composite with which its outputs are known: they come from its manifest, not from the host."""
_DIFFERS = (_CHANGED, Outcome.WOULD_CHANGE)
_UNWELL = (Outcome.UNHEALTHY, Outcome.CRITICAL)


class VertexChecks:
    """Checks the vertices that the workers take, and hands the results to `CheckCompletion`."""

    follow_watches: Callable[[int, Resource], None]
    """Called after each check of a resource whose watches may move. Set by the engine."""
    fragile: FragileMounts
    """The mounts that must answer before a check touches a path below them. Set when the run has begun."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        results: Results,
        prechecks: Prechecks,
        *,
        reversals: Reversals,
        run_store: RunStore | None,
        options: RunOptions,
        slot_gate: SlotGate | None = None,
    ) -> None:
        self.slots = SlotQueue(dispatcher, slot_gate)
        self._permits = self.slots.permits
        self._dispatcher = dispatcher
        self._vertex_table = dispatcher.vertex_table
        self._limits = dispatcher.vertex_table.limits
        self._scheduler = dispatcher.scheduler
        self._prechecks = prechecks
        self._reversals = reversals
        self._run_store = run_store
        self._options = options
        self._owners = PathOwners(dispatcher.vertex_table)
        self._repairs = Repairs()
        self._noop_judge = NoopJudge(dispatcher.vertex_table, results, reversals, dispatcher.scheduler)
        self._batches = dispatcher.scheduler.batches.batch
        self._health_limiter = trio.CapacityLimiter(options.jobs)
        self._batch_applier = BatchApplier(self._batches)
        self.manifest_follower = ManifestFollower(dispatcher, is_one_shot=not options.watch)
        self.follow_up_checks = FollowUpChecks(
            dispatcher, results, self.manifest_follower, self._noop_judge, is_on=not options.watch
        )
        self.completion = CheckCompletion(
            dispatcher,
            results,
            reversals,
            follow_up_checks=self.follow_up_checks,
            batch_applier=self._batch_applier,
            repairs=self._repairs,
            run_store=run_store,
        )
        self.cancelled = self.completion.cancelled
        self._group_check = GroupCheck(
            dispatcher, self.completion, self.follow_up_checks, run_store=run_store, options=options
        )

    def end_group(self, started: float) -> float | None:
        """As `GroupCheck.end_next`."""
        has_consumers = self._prechecks.has_consumers
        return self._group_check.end_next(started, self.fragile, has_consumers=has_consumers)

    async def check(self, vertex: int, started: float) -> float:
        """Check ``vertex`` and complete the check. Return the time it ended."""
        causes = self._scheduler.causes(vertex)
        bits = int(causes)
        resource = compared = self._vertex_table.resources[vertex]
        noop = self._limits.get(vertex, DEFAULT_LIMITS).noop
        monitor_only = self._options.monitor_only or resource.meta.monitor_only
        run_store = None if noop or monitor_only else self._run_store
        if self.follow_up_checks.log.changes:
            self.follow_up_checks.log.begins(vertex, self._batches.get(vertex))
        if bits & _REFRESH and run_store is not None:
            run_store.begins(resource.ref)
        declared = resource.declared
        if declared.deferred is None and not declared.members and not self.fragile.by_point:
            if self.follow_up_checks.is_on:
                self.follow_up_checks.reads(vertex)
            result = await self._check(vertex, resource, bits, noop, monitor_only)
        else:
            result = await self._check_carefully(vertex, resource, bits, noop, monitor_only)
            before, resource = resource, self._as_checked(vertex, resource)
            # The first check is compared with the last run. Later, a new value is drift.
            compared = resource if bits & _INITIAL else before
        if noop:
            result = self._noop_result(vertex, bits, result, monitor_only)
        if resource.has_moving_watches:
            self.follow_watches(vertex, resource)
        reported = causes
        if result.outcome is not _OK:
            if (found := await self._followed(vertex, resource, result)) is None:
                self.cancelled(vertex, started)
                return trio.current_time()
            result, reported = found, await self._reported(causes, compared, found)
        if self._permits and vertex in self._permits:
            self.slots.ended(vertex, result.outcome)
        return self.completion.complete(
            vertex, resource, result, causes=causes, reported=reported, started=started, run_store=run_store
        )

    def _as_checked(self, vertex: int, resource: Resource) -> Resource:
        """``resource`` with the values that its check, which has just ended, had."""
        now, deferred = self._vertex_table.resources[vertex], resource.declared.deferred
        return now if deferred is not None and now.declared.deferred is deferred else resource

    def _noop_result(self, vertex: int, bits: int, result: CheckResult, monitor_only: bool) -> CheckResult:
        """The result of a dry run: adds consequences, and drops a failure that an earlier change may prevent."""
        if result.outcome in (_FAILED, *_UNWELL):
            return self._noop_judge.downgrade(vertex, result)
        if self._vertex_table.resources[vertex].declared.members:
            unaffected = self._scheduler.refreshes.unaffected
            (unaffected.discard if bits & _REFRESH else unaffected.add)(vertex)
        return result if monitor_only else self._noop_judge.with_consequences(vertex, result)

    async def _check_carefully(
        self, vertex: int, resource: Resource, bits: int, noop: bool, monitor_only: bool
    ) -> CheckResult:
        """As `_check`, but for mounts that may not answer, and resources with deferred values or members."""
        if not monitor_only and (failure := await self._mount_failure(inspected_paths(resource))):
            return CheckResult.failed(failure)
        if self.follow_up_checks.is_on and not monitor_only:
            self.follow_up_checks.reads(vertex)
        if resource.declared.deferred is None and not resource.declared.members:
            return await self._check(vertex, resource, bits, noop, monitor_only)
        return await self._check_prechecked(vertex, bits, noop, monitor_only)

    async def _mount_failure(self, paths: Iterable[str]) -> ResourceError | None:
        """The error of a mount above one of ``paths`` that does not answer, or None."""
        try:
            await self.fragile.ask_all(paths)
        except ResourceError as error:
            return error
        return None

    async def _reported(self, causes: Cause, resource: Resource, result: CheckResult) -> Cause:
        """The causes that events name. ``causes`` if the source files that decide this can't be read now."""
        is_asked = self._run_store is not None and self.fragile.by_point
        if is_asked and await self._mount_failure(resource.source_files()):
            return causes
        return self.completion.reported(causes, resource, result)

    async def _check(
        self, vertex: int, resource: Resource, bits: int, noop: bool, monitor_only: bool
    ) -> CheckResult:
        if (undone := self.follow_up_checks.final_check.found.pop(vertex, None)) is not None:
            return undone
        result, check_only, refresh = AS_DESIRED, noop or monitor_only, bool(bits & _REFRESH)
        done: list[str] = []
        if not check_only and bits & _HEALTH:
            refresh |= await self._repairs_with_refresh(vertex, resource)
        if not monitor_only:
            result = await check(
                resource,
                refresh=refresh,
                noop=noop,
                diff=self._options.diff,
                before_apply=partial(self._may_change, vertex, noop, done),
                apply=partial(self._batch_applier.apply, vertex) if vertex in self._batches else None,
                done=done,
            )
            if result.outcome is _FAILED and not result.actions:
                if vertex in self.slots.wanted:
                    return result
                if (refused := self._refused(vertex)) is not None:
                    result = CheckResult.failed(refused)
        if resource.health_checks and not (
            noop and result.outcome is _FAILED
        ):  # a run may prevent the failure
            result = await self._examined(vertex, resource, result)
            if not check_only:
                result = self._repairs.judged(vertex, resource, result)
        if self._prechecks.has_consumers and result.outcome in (_OK, _CHANGED):
            return await self._published(resource, result)
        return result

    def _refused(self, vertex: int) -> ResourceError | None:
        """The error if another resource manages the files of ``vertex`` by another path, or None."""
        try:
            self._owners.require_agreement(vertex, self.fragile)
        except ResourceError as error:
            return error
        return None

    async def _may_change(self, vertex: int, noop: bool, done: list[str], state: Any) -> None:
        """``vertex`` was observed as ``state`` and differs: raise what forbids the change, or record that it begins."""
        self._owners.require_agreement(vertex, self.fragile)
        if (limits := self._limits.get(vertex)) is not None and limits.slot is not None:
            self.slots.require(vertex, limits.slot, noop=noop)
        await (self._noop_judge.preflight if noop else self._before_apply)(vertex, state)
        if not noop:
            self.completion.begun[vertex] = done

    async def _check_prechecked(self, vertex: int, bits: int, noop: bool, monitor_only: bool) -> CheckResult:
        """As `_check`, for a resource with deferred values or members."""
        result = await self._prechecks.result(
            vertex, self._scheduler.blocking, refresh=bool(bits & _REFRESH), noop=noop
        )
        # If the watches have just changed, the vertex is held, and its check is cancelled here.
        await trio.lowlevel.checkpoint()
        self._owners.decide(vertex, is_managed=result is None)
        if result is None:
            resource = self._vertex_table.resources[vertex]
            return await self._check(vertex, resource, bits, noop, monitor_only)
        if result.outcome is Outcome.CHANGED:
            await self._before_apply(vertex, None)
        resource = self._vertex_table.resources[vertex]
        if resource.declared.members and resource.health_checks:
            result = await self._examined(vertex, resource, result)
            if not (noop or monitor_only):
                self._repair_members(vertex, resource, result)
        if resource.declared.members and self._prechecks.has_consumers and result.outcome in _KNOWN:
            return await self._published(resource, result)
        return result

    async def _repairs_with_refresh(self, vertex: int, resource: Resource) -> bool:
        """Begin a repair of ``resource`` unless it is healthy again; return whether the repair is a refresh."""
        asked = {"check"}  # for the health of the composite that it is a member of
        if resource.health_checks:
            asked = wanted_repairs(resource, await self._examined(vertex, resource, AS_DESIRED))
        if asked:
            self._repairs.begins(vertex)
            resource.run_again()
        return "refresh" in asked

    def _repair_members(self, vertex: int, resource: Resource, result: CheckResult) -> None:
        """Repair a composite by checking its members. A one-shot run does nothing: it has just checked them."""
        result = self._repairs.judged(vertex, resource, result)
        if result.outcome is Outcome.CRITICAL and not self.follow_up_checks.is_on:
            self._repairs.begins(vertex)
            for ref in resource.declared.members:
                self._dispatcher.mark(self._vertex_table.number(ref), Cause.HEALTH)

    async def _followed(self, vertex: int, resource: Resource, result: CheckResult) -> CheckResult | None:
        """The result, after loading a manifest that this check has changed or found; None to check once more.

        The next check of a vertex without its slot starts when it has one.
        """
        if result.diffs and self._held_secrets(resource):
            result = result._replace(diffs=tuple(map(without_removed_lines, result.diffs)))
        if vertex in self.slots.wanted:
            self.slots.wait(vertex)
            return None
        if result.outcome is _FAILED and isinstance(resource, Composite) and resource.is_missing:
            if await self._mount_failure((resource.manifest_path,)):
                return result
            return await self.manifest_follower.with_child(resource, result)
        if (deferred := resource.declared.deferred) is not None and deferred.must_reload:
            return await self.manifest_follower.with_elements(deferred, result)
        if result.outcome in _DIFFERS and self.manifest_follower.origin is not None:
            return await self.manifest_follower.judged(vertex, resource, result)
        return result

    async def _examined(self, vertex: int, resource: Resource, result: CheckResult) -> CheckResult:
        """``result`` with the health of ``resource``. Health checks use no job, so slow ones do not delay repairs."""
        from reactor.engine.health_examination import examined  # noqa: PLC0415 - few resources have health checks

        self._dispatcher.release_job(vertex)
        async with self._health_limiter:
            return await examined(resource, result)

    async def _published(self, resource: Resource, result: CheckResult) -> CheckResult:
        """Publish the outputs of ``resource``; check the idle users of outputs that have changed."""
        if self.fragile.by_point and (failure := await self._mount_failure(inspected_paths(resource))):
            return CheckResult.failed(failure, result.actions)
        try:
            consumers = await self._prechecks.publish(resource)
        except ResourceError as error:
            return CheckResult.failed(error, result.actions)
        except OSError as error:
            failure = ResourceError(f"its outputs can't be read: {error}", code="R0502")
            return CheckResult.failed(failure, result.actions)
        for consumer in consumers:
            if not self._scheduler.in_motion(consumer):
                self._dispatcher.mark(consumer, Cause.INTENT)
        return result

    async def _before_apply(self, vertex: int, state: Any) -> None:
        """The check has observed ``state`` and will change it now: record what must survive a crash."""
        if (resource := self._vertex_table.resources[vertex]).meta.reverse:
            await self._reversals.record(resource, state)
        below, left_out = self._scheduler.topology.notify[vertex], self._vertex_table.left_out
        if self._run_store is not None and (below or left_out):
            refs = self._vertex_table.refs
            subscribers = [*(refs[each] for each in below), *left_out.get(refs[vertex], ())]
            if subscribers:
                await self._run_store.intend(refs[vertex], subscribers)
        if self.follow_up_checks.is_on:
            self.follow_up_checks.changing(vertex)
        self._scheduler.refreshes.touched.add(vertex)

    def may_show_secrets(self, vertex: int) -> bool:
        """Whether what ``vertex`` has made on the host, in this run or the last one, may show a secret."""
        resource = self._vertex_table.resources[vertex]
        return resource.holds_secrets or self._held_secrets(resource)

    def _held_secrets(self, resource: Resource) -> bool:
        return self._run_store is not None and self._run_store.held_secrets(resource.ref)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph; other resources may get their numbers."""
        self.completion.forget(gone := tuple(vertices))
        self._owners.forget(gone)
        self._repairs.forget(gone)
