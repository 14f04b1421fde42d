"""The checks of single vertices in a run: what goes before `check`, and what its verdict depends on besides."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Protocol

import trio

from reactor.engine.batch_apply import BatchApplier
from reactor.engine.check import AS_DESIRED, Verdict, check, examined, looked_at
from reactor.engine.check_completion import CheckCompletion, reported_causes
from reactor.engine.event_recorder import EventRecorder
from reactor.engine.events import Cause
from reactor.engine.follow_up_checks import FollowUpChecks
from reactor.engine.manifest_follower import ManifestFollower, Origin
from reactor.engine.noop import NoopJudge
from reactor.engine.options import RunOptions
from reactor.engine.outcome import Outcome
from reactor.engine.path_owners import PathOwners
from reactor.engine.prechecks import Prechecks
from reactor.engine.repairs import Repairs, wanted
from reactor.engine.results import Results
from reactor.engine.reversals import Reversals
from reactor.engine.run_store import RunStore
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable
from reactor.resource.base import Resource
from reactor.resource.composite import Composite
from reactor.resource.mount_health import FragileMounts
from reactor.resource.plan import ResourceError

_REFRESH = Cause.REFRESH.value
_HEALTH = Cause.HEALTH.value
_OK, _CHANGED, _FAILED = Outcome.OK, Outcome.CHANGED, Outcome.FAILED  # see there
_DIFFERS = (_CHANGED, Outcome.WOULD_CHANGE)
_UNWELL = (Outcome.UNHEALTHY, Outcome.CRITICAL)


class Run(Protocol):
    """The engine, as the checks know it."""

    options: RunOptions
    clock: trio.abc.Clock
    renew: Callable[[], Awaitable[bool]] | None
    origin: Origin | None
    vertex_table: VertexTable
    results: Results
    reversals: Reversals
    scheduler: Scheduler

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now."""

    def lend(self, vertex: int) -> None:
        """The check of ``vertex`` takes no job from now on."""


class VertexChecks:
    """What workers are for: the `Work` of a run."""

    def __init__(
        self, run: Run, recorder: EventRecorder, prechecks: Prechecks, run_store: RunStore | None
    ) -> None:
        self._run = run
        self._vertex_table = run.vertex_table
        self._results = run.results
        self._reversals = run.reversals
        self._scheduler = run.scheduler
        self._recorder = recorder
        self._prechecks = prechecks
        self._run_store = run_store
        self._owners = PathOwners(run.vertex_table)
        self._repairs = Repairs()
        self._noop_judge = NoopJudge(run.vertex_table, run.results, run.reversals, run.scheduler)
        self._batches = run.scheduler.groups.batch
        self._examiners = trio.CapacityLimiter(run.options.jobs)
        self._batch_applier = BatchApplier(self._batches)
        self.manifest_follower = ManifestFollower(run)
        self.follow_up_checks = FollowUpChecks(run, self.manifest_follower)
        self.completion = CheckCompletion(
            run,
            recorder,
            prechecks,
            follow_up_checks=self.follow_up_checks,
            batch_applier=self._batch_applier,
            repairs=self._repairs,
        )
        self._is_one_shot = not run.options.watch
        self.fragile: FragileMounts
        """The mounts that are asked before a check touches what is below them. Known once the run has begun."""

    async def check(self, vertex: int, started: float) -> float:
        """Check ``vertex`` and complete the check; return the time it ended."""
        causes = self._scheduler.causes(vertex)
        refresh = bool(int(causes) & _REFRESH)
        resource = self._vertex_table.resources[vertex]
        noop = self._vertex_table.noop(vertex)
        monitor_only = self._run.options.monitor_only or resource.meta.monitor_only
        run_store = None if noop or monitor_only else self._run_store
        if self.follow_up_checks.log.changes:
            self.follow_up_checks.log.begins(vertex, self._batches.get(vertex))
        if refresh and run_store is not None:
            run_store.begins(resource.ref)
        declared = resource.declared
        if declared.deferred is None and not declared.members and not self.fragile.by_point:
            verdict = await self._verdict(vertex, resource, refresh, noop, monitor_only)
        else:
            verdict = await self._careful_verdict(vertex, resource, refresh, noop, monitor_only)
        if noop:
            verdict = self._rehearsed(vertex, verdict, monitor_only)
        reported = causes
        if verdict.outcome is not _OK:
            if (found := await self._followed(vertex, resource, verdict)) is None:
                self.void(vertex)
                return trio.current_time()
            verdict, reported = found, await self._reported(causes, resource)
        return self.completion.complete(
            vertex, resource, verdict, causes=causes, reported=reported, started=started, run_store=run_store
        )

    def _rehearsed(self, vertex: int, verdict: Verdict, monitor_only: bool) -> Verdict:
        """The verdict on a rehearsal: excused by what others would bring, or with what would follow from it."""
        if verdict.outcome in (_FAILED, *_UNWELL):
            return self._noop_judge.downgrade(vertex, verdict)
        return verdict if monitor_only else self._noop_judge.with_consequences(vertex, verdict)

    async def _careful_verdict(
        self, vertex: int, resource: Resource, refresh: bool, noop: bool, monitor_only: bool
    ) -> Verdict:
        """The same where mounts may not answer, for a resource with late properties, or one that stands for others."""
        if not monitor_only and (silence := await self._silence(looked_at(resource))):
            return Verdict.failed(silence)
        if resource.declared.deferred is None and not resource.declared.members:
            return await self._verdict(vertex, resource, refresh, noop, monitor_only)
        return await self._foregone_verdict(vertex, refresh, noop, monitor_only)

    async def _silence(self, paths: Iterable[str]) -> ResourceError | None:
        """Why one of ``paths`` must not be touched now, if that is so."""
        try:
            await self.fragile.ask_all(paths)
        except ResourceError as error:
            return error
        return None

    async def _reported(self, causes: Cause, resource: Resource) -> Cause:
        """The causes that events name, unless the files that would tell can't be read now."""
        if self._run_store is None:
            return causes
        if self.fragile.by_point and await self._silence(resource.source_files()):
            return causes
        return reported_causes(causes, resource, self._run_store.cause_of)

    async def _verdict(
        self, vertex: int, resource: Resource, refresh: bool, noop: bool, monitor_only: bool
    ) -> Verdict:
        if (undone := self.follow_up_checks.final_check.found.pop(vertex, None)) is not None:
            return undone
        verdict, looks_only = AS_DESIRED, noop or monitor_only
        if not looks_only and int(self._scheduler.causes(vertex)) & _HEALTH:
            refresh |= await self._repairs_with_refresh(vertex, resource)
        if not monitor_only:
            verdict = await check(
                resource,
                refresh=refresh,
                noop=noop,
                diff=self._run.options.diff,
                before_apply=partial(self._may_change, vertex, noop),
                apply=partial(self._batch_applier.apply, vertex) if vertex in self._batches else None,
            )
            if verdict.outcome is _FAILED and not verdict.actions and (refused := self._refused(vertex)):
                verdict = Verdict.failed(refused)
        if resource.health_checks:
            verdict = await self._examined(vertex, resource, verdict)
            if not looks_only:
                verdict = self._repairs.judged(vertex, resource, verdict)
        if self._prechecks.has_takers and verdict.outcome in (_OK, _CHANGED):
            return await self._published(resource, verdict)
        return verdict

    def _refused(self, vertex: int) -> ResourceError | None:
        """Why the check of ``vertex`` had to fail: another resource manages its files by another name."""
        try:
            self._owners.require_agreement(vertex, self.fragile)
        except ResourceError as error:
            return error
        return None

    async def _may_change(self, vertex: int, noop: bool, state: Any) -> None:
        """``vertex`` was found as ``state`` and differs: raise what keeps it from a change, and book that it begins."""
        self._owners.require_agreement(vertex, self.fragile)
        await (self._noop_judge.preflight if noop else self._before_apply)(vertex, state)

    async def _foregone_verdict(self, vertex: int, refresh: bool, noop: bool, monitor_only: bool) -> Verdict:
        """The same for a resource with late properties, or one that stands for others."""
        verdict = await self._prechecks.verdict(vertex, self._scheduler.blocking, refresh=refresh, noop=noop)
        # Watches that changed just now hold the vertex, which ends this check.
        await trio.lowlevel.checkpoint()
        self._owners.decide(vertex, is_managed=verdict is None)
        if verdict is None:
            resource = self._vertex_table.resources[vertex]
            return await self._verdict(vertex, resource, refresh, noop, monitor_only)
        if verdict.outcome is Outcome.CHANGED:
            await self._before_apply(vertex, None)
        resource = self._vertex_table.resources[vertex]
        if resource.declared.members and resource.health_checks:
            verdict = await self._examined(vertex, resource, verdict)
            if not (noop or monitor_only):
                self._repair_members(vertex, resource, verdict)
        return verdict

    async def _repairs_with_refresh(self, vertex: int, resource: Resource) -> bool:
        """Begin a repair of ``resource``, if it is not well again by itself; return whether that is to refresh it."""
        asked = {"check"}  # for the health of what it belongs to
        if resource.health_checks:
            asked = wanted(resource, await self._examined(vertex, resource, AS_DESIRED))
        if asked:
            self._repairs.begins(vertex)
            resource.run_again()
        return "refresh" in asked

    def _repair_members(self, vertex: int, resource: Resource, verdict: Verdict) -> None:
        """To check what stands for others is to check these. A run that ends has done that just now."""
        verdict = self._repairs.judged(vertex, resource, verdict)
        if verdict.outcome is Outcome.CRITICAL and not self._is_one_shot:
            self._repairs.begins(vertex)
            for ref in resource.declared.members:
                self._run.mark(self._vertex_table.number(ref), Cause.HEALTH)

    async def _followed(self, vertex: int, resource: Resource, verdict: Verdict) -> Verdict | None:
        """The verdict once the manifest is loaded that there may be now; None when the check is to begin again."""
        if verdict.outcome is _FAILED and isinstance(resource, Composite) and resource.is_missing:
            return await self._renewed(resource, verdict)
        if verdict.outcome in _DIFFERS:
            return await self.manifest_follower.judged(vertex, resource, verdict)
        return verdict

    async def _examined(self, vertex: int, resource: Resource, verdict: Verdict) -> Verdict:
        """``verdict`` with the health of ``resource``. That takes no job: slow health checks keep no other from repairs."""
        self._run.lend(vertex)
        async with self._examiners:
            return await examined(resource, verdict)

    async def _renewed(self, resource: Composite, verdict: Verdict) -> Verdict | None:
        """Load the manifest of ``resource`` if it has been made meanwhile: None when it is in force, else the failure."""
        path = resource.manifest_path
        if self._run.renew is None or await self._silence((path,)) or not os.path.exists(path):  # noqa: ASYNC240 - it answers
            return verdict
        if await self._run.renew():
            return None
        message = f"{path} has been made, and can't be used"
        return Verdict(
            Outcome.FAILED,
            error=message,
            hint="mend what was wrong with it when it was loaded",
            code="R0509",
        )

    async def _published(self, resource: Resource, verdict: Verdict) -> Verdict:
        """Hand on what others take from ``resource``; those that rest are checked if it is news to them."""
        if self.fragile.by_point and (silence := await self._silence(looked_at(resource))):
            return Verdict.failed(silence, verdict.actions)
        try:
            takers = await self._prechecks.publish(resource)
        except ResourceError as error:
            return Verdict.failed(error, verdict.actions)
        except OSError as error:
            return Verdict(
                Outcome.FAILED, verdict.actions, error=f"its outputs can't be told: {error}", code="R0502"
            )
        for taker in takers:
            if not self._scheduler.in_motion(taker):
                self._run.mark(taker, Cause.INTENT)
        return verdict

    async def _before_apply(self, vertex: int, state: Any) -> None:
        """The point of no return of a check that found ``state``: from here on, the world may have changed."""
        if (resource := self._vertex_table.resources[vertex]).meta.reverse:
            await self._reversals.record(resource, state)
        below, left_out = self._scheduler.topology.notify[vertex], self._vertex_table.left_out
        if self._run_store is not None and (below or left_out):
            refs = self._vertex_table.refs
            subscribers = [*(refs[each] for each in below), *left_out.get(refs[vertex], ())]
            if subscribers:
                await self._run_store.intend(refs[vertex], subscribers)
        if self._is_one_shot:
            self.follow_up_checks.changing(vertex)
        self._scheduler.refreshes.change_started(vertex)

    def void(self, vertex: int) -> None:
        """The check of ``vertex`` was cancelled: as `CheckCompletion.cancelled`."""
        self.completion.cancelled(vertex)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph: other resources may get their numbers."""
        self.completion.forget(gone := tuple(vertices))
        self._owners.forget(gone)
        self._repairs.forget(gone)

    def say(self, vertex: int, line: str) -> None:
        """Pass on a line that the running check of ``vertex`` said."""
        self._recorder.said(vertex, line)

    def note(self, vertex: int, line: str) -> None:
        """Pass on what the running check of ``vertex`` said of it that is kept."""
        self._recorder.noted(vertex, line)

    def lend(self, vertex: int) -> None:
        """The running check of ``vertex`` waits for something that may never come: it takes no job."""
        self._run.lend(vertex)
