"""Checks of single vertices in a run: what is asked before, booked after, and told of them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final, Protocol

import trio

from reactor.engine.batch_apply import BatchApplier
from reactor.engine.check import AS_DESIRED, Verdict, check, examined, looked_at
from reactor.engine.event_recorder import EventRecorder
from reactor.engine.events import CAUSE_SETS, Cause
from reactor.engine.flapping import FlapDetector
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

_INITIAL = Cause.INITIAL.value
_DRIFT = Cause.DRIFT.value
_REFRESH = Cause.REFRESH.value
_HEALTH = Cause.HEALTH.value
_OK, _CHANGED, _FAILED = Outcome.OK, Outcome.CHANGED, Outcome.FAILED  # see there
_MOST_ROUNDS: Final = 10
"""How often a run without watches repairs one resource in a row: what changes it back must not keep it from ending."""
_HINT_AT_FIGHT: Final = "find what changes it at the same time, and stop that, or take it out of the manifest"
_DIFFERS = (_CHANGED, Outcome.WOULD_CHANGE)
_UNWELL = (Outcome.UNHEALTHY, Outcome.CRITICAL)
_APPLIED = (_OK, _CHANGED, *_UNWELL)


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
        self._flap_detector = FlapDetector()
        self._owners = PathOwners(run.vertex_table)
        self._repairs = Repairs()
        self._noop_judge = NoopJudge(run.vertex_table, run.results, run.reversals, run.scheduler)
        self._batches = run.scheduler.groups.batch
        self._examiners = trio.CapacityLimiter(run.options.jobs)
        self._batch_applier = BatchApplier(self._batches)
        self.manifest_follower = ManifestFollower(run)
        self.follow_up_checks = FollowUpChecks(run, self.manifest_follower)
        self._hears_nothing = not run.options.watch
        self.fragile: FragileMounts
        """The mounts that are asked before a check touches what is below them. Known once the run has begun."""
        self.last_change = 0.0
        """When something was changed last."""

    async def check(self, vertex: int, started: float) -> float:
        """Run the check of ``vertex`` and book how it ended; return the time it did."""
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
        if resource.deferred is None and not resource.members and not self.fragile.by_point:
            verdict = await self._verdict(vertex, resource, refresh, noop, monitor_only)
        else:
            verdict = await self._careful_verdict(vertex, resource, refresh, noop, monitor_only)
        if noop:
            verdict = self._rehearsed(vertex, verdict, monitor_only)
        labelled = causes
        if verdict.outcome is not _OK:
            if (found := await self._followed(vertex, resource, verdict)) is None:
                self.void(vertex)
                return trio.current_time()
            verdict, labelled = found, await self._label(causes, resource)
        if verdict.drifted_again is not None or self._flap_detector.again:
            verdict = self._ended(vertex, verdict)
        now = self._run.clock.current_time()
        retry_in = self._finish(vertex, verdict, causes, started, now)
        if run_store is not None and verdict.outcome in _APPLIED:
            _remember(run_store, resource, refresh)
        self._recorder.checked(vertex, labelled, verdict, now - started, retry_in)
        if self._reversals.pending and verdict.outcome in (_OK, _CHANGED):
            self._retire_undone(vertex, resource)
        self.tell_transitions(vertex)
        return now

    def _rehearsed(self, vertex: int, verdict: Verdict, monitor_only: bool) -> Verdict:
        """The verdict on a rehearsal: excused by what others would bring, or with what would follow from it."""
        if verdict.outcome in (_FAILED, *_UNWELL):
            return self._noop_judge.downgrade(vertex, verdict)
        return verdict if monitor_only else self._noop_judge.with_ensuing(vertex, verdict)

    async def _careful_verdict(
        self, vertex: int, resource: Resource, refresh: bool, noop: bool, monitor_only: bool
    ) -> Verdict:
        """The same where mounts may not answer, for a resource with late properties, or one that stands for others."""
        if not monitor_only and (silence := await self._silence(looked_at(resource))):
            return Verdict.failed(silence)
        if resource.deferred is None and not resource.members:
            return await self._verdict(vertex, resource, refresh, noop, monitor_only)
        return await self._foregone_verdict(vertex, refresh, noop, monitor_only)

    async def _silence(self, paths: Iterable[str]) -> ResourceError | None:
        """Why one of ``paths`` must not be touched now, if that is so."""
        try:
            await self.fragile.ask_all(paths)
        except ResourceError as error:
            return error
        return None

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
        if resource.members and resource.health_checks:
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
        if verdict.outcome is Outcome.CRITICAL and not self._hears_nothing:
            self._repairs.begins(vertex)
            for ref in resource.members:
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

    def tell_transitions(self, *checked: int) -> None:
        """Tell who became blocked or free; what stands for them, or for those just checked, is judged anew."""
        blocking = self._scheduler.blocking
        crossed = self._recorder.transitions(blocking) if blocking.transitions else ()
        if self._prechecks.has_wholes:
            for whole in self._prechecks.affected_composites((*checked, *crossed), blocking.blocked):
                self._run.mark(whole, Cause.DRIFT)

    async def _label(self, causes: Cause, resource: Resource) -> Cause:
        """Tell a first change from one that comes from the manifest, or from drift while nobody looked.

        A refresh that is owed from an earlier life is reason enough: then nothing need have drifted. What an event
        announced is no drift either, if it was a file that the manifest pulls in; nor is what every run does anyway.
        """
        bits = int(causes)  # to combine members of the class takes twenty times as long
        if self._run_store is None or not bits & (_INITIAL | _DRIFT):
            return causes
        if self.fragile.by_point and await self._silence(resource.reads()):
            return causes
        known = self._run_store.cause_of(resource)
        if bits & _INITIAL:
            others = bits & ~_INITIAL
            if known is Cause.DRIFT and resource.unconditional:
                known = Cause.INITIAL
            return CAUSE_SETS[others if others and known is Cause.DRIFT else others | known.value]
        return CAUSE_SETS[bits & ~_DRIFT | known.value] if known is Cause.INTENT else causes

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
        if self._hears_nothing:
            self.follow_up_checks.changing(vertex)
        self._scheduler.refreshes.change_started(vertex)

    def _retire_undone(self, vertex: int, checked: Resource) -> None:
        """If ``checked`` undid a resource, and is not one that was just about to leave, ``vertex`` has left the run."""
        if checked is self._vertex_table.resources[vertex] and self._reversals.done(checked.ref):
            self._vertex_table.present.discard(vertex)
            self._results.forget([vertex])
            self._recorder.reversed(vertex)

    def void(self, vertex: int) -> None:
        """The check of ``vertex`` was cancelled: it is no answer, and is owed again."""
        self.follow_up_checks.ends(vertex)
        self._scheduler.finished(vertex, Outcome.CANCELLED, trio.current_time())
        self._batch_applier.look()

    def _finish(
        self, vertex: int, verdict: Verdict, causes: Cause, started: float, now: float
    ) -> float | None:
        if verdict.outcome is _CHANGED:
            self.last_change = now
            if int(causes) & _DRIFT or verdict.drifted_again is not None:
                self._see_fight(vertex, verdict, started, now)
        if verdict.outcome is not _OK and self._hears_nothing:
            self.follow_up_checks.ends(vertex)
        retry_in = self._scheduler.finished(vertex, verdict.outcome, now)
        if verdict.drifted_again is not None:
            self._run.mark(vertex, Cause.DRIFT)
        if self._batch_applier.open:
            self._batch_applier.look()
        if verdict.outcome is Outcome.CRITICAL and self._hears_nothing:
            self._repair_at_once(vertex, verdict)
        return retry_in

    def _ended(self, vertex: int, verdict: Verdict) -> Verdict:
        """The verdict; what drifts again and again fails where nobody watches, since such a run has an end."""
        if verdict.drifted_again is None:
            self._flap_detector.stayed_ok(vertex)
            return verdict
        times = self._flap_detector.drifted_again(vertex)
        if self._run.options.watch or times < _MOST_ROUNDS:
            return verdict
        error = f"repaired {times} times, and changed again by something else: {verdict.drifted_again}"
        return Verdict(
            _FAILED,
            verdict.actions,
            verdict.diffs,
            error,
            _HINT_AT_FIGHT,
            health=verdict.health,
            code="R0504",
        )

    def _repair_at_once(self, vertex: int, verdict: Verdict) -> None:
        """A run that ends refreshes once what is critical, unless it has just changed it."""
        resource = self._vertex_table.resources[vertex]
        if "refresh" in wanted(resource, verdict) and not verdict.actions and self._repairs.is_first(vertex):
            self._run.mark(vertex, Cause.HEALTH)

    def _see_fight(self, vertex: int, verdict: Verdict, started: float, now: float) -> None:
        took = now - started
        if self._vertex_table.resources[vertex].meta.poll is not None:
            took = 0.0  # what is looked for on a clock may be work that comes steadily, and takes its time
        if (flare := self._flap_detector.repaired(vertex, verdict.actions, took, now)) is None:
            return
        self._scheduler.delay_queue.pace(vertex, now + flare.wait)
        if flare.news is not None:
            self._recorder.flapping(vertex, flare.news)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph: who gets their numbers has not been fought over."""
        self._flap_detector.forget(gone := tuple(vertices))
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


def _remember(run_store: RunStore, resource: Resource, refresh: bool) -> None:
    run_store.applied(resource)
    if refresh:
        run_store.refreshed(resource.ref)
