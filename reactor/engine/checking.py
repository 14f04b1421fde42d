"""Checks of single vertices in a run: what is asked before, booked after, and told of them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import Any, Protocol

import trio

from reactor.engine.check import AS_DESIRED, Verdict, check, examined, looked_at
from reactor.engine.events import CAUSE_SETS, Cause, Result
from reactor.engine.fights import Fights
from reactor.engine.following import Following, Origin
from reactor.engine.foregone import Foregone
from reactor.engine.gathering import Gatherings
from reactor.engine.herald import Herald
from reactor.engine.ledger import Ledger
from reactor.engine.memory import Memory
from reactor.engine.options import Options
from reactor.engine.outcome import Outcome
from reactor.engine.rehearsal import Rehearsal
from reactor.engine.rereading import Rereading
from reactor.engine.reversals import Reversals
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler
from reactor.engine.second_look import SecondLook
from reactor.resource.base import Resource
from reactor.resource.composite import Composite
from reactor.resource.fragile import FragileMounts
from reactor.resource.plan import ResourceError

_INITIAL = Cause.INITIAL.value
_DRIFT = Cause.DRIFT.value
_REFRESH = Cause.REFRESH.value
_OK, _CHANGED, _FAILED = Outcome.OK, Outcome.CHANGED, Outcome.FAILED  # see there
_DIFFERS = (_CHANGED, Outcome.WOULD_CHANGE)
_SETTLED = (Result.OK, Result.CHANGED)
_APPLIED = (_OK, _CHANGED, Outcome.UNHEALTHY)


class Run(Protocol):
    """The engine, as the checks know it."""

    options: Options
    clock: trio.abc.Clock
    renew: Callable[[], Awaitable[bool]] | None
    origin: Origin | None
    roster: Roster
    ledger: Ledger
    reversals: Reversals
    scheduler: Scheduler

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now."""

    def lend(self, vertex: int) -> None:
        """The check of ``vertex`` takes no job from now on."""


class Checking:
    """What workers are for: the `Work` of a run."""

    def __init__(self, run: Run, herald: Herald, foregone: Foregone, memory: Memory | None) -> None:
        self._run = run
        self._roster = run.roster
        self._ledger = run.ledger
        self._reversals = run.reversals
        self._scheduler = run.scheduler
        self._herald = herald
        self._foregone = foregone
        self._memory = memory
        self._fights = Fights()
        self._rehearsal = Rehearsal(run.roster, run.ledger, run.reversals, run.scheduler)
        self._parties = run.scheduler.groups.party
        self._examiners = trio.CapacityLimiter(run.options.jobs)
        self._gatherings = Gatherings(self._parties)
        self.second_look = SecondLook(run.roster, run.ledger)
        self.following = Following(run)
        self.rereading = Rereading(run.roster)
        self._hears_nothing = not run.options.watch
        self.fragile: FragileMounts
        """The mounts that are asked before a check touches what is below them. Known once the run has begun."""
        self.last_change = 0.0
        """When something was changed last."""

    async def check(self, vertex: int, started: float) -> float:
        """Run the check of ``vertex`` and book how it ended; return the time it did."""
        causes = self._scheduler.causes(vertex)
        refresh = bool(int(causes) & _REFRESH)
        resource = self._roster.resources[vertex]
        noop = self._roster.noop(vertex)
        monitor_only = self._run.options.monitor_only or resource.meta.monitor_only
        memory = None if noop or monitor_only else self._memory
        self._begins(vertex, resource.ref, memory if refresh else None)
        if resource.late is None and not resource.members and not self.fragile.by_point:
            verdict = await self._verdict(vertex, resource, refresh, noop, monitor_only)
        else:
            verdict = await self._careful_verdict(vertex, resource, refresh, noop, monitor_only)
        if noop and verdict.outcome in (Outcome.FAILED, Outcome.UNHEALTHY):
            verdict = self._rehearsal.excuse(vertex, verdict)
        elif noop and not monitor_only:
            verdict = self._rehearsal.with_ensuing(vertex, verdict)
        if verdict.outcome is not _OK:
            if (found := await self._followed(vertex, resource, verdict)) is None:
                self.void(vertex)
                return trio.current_time()
            verdict = found
        now = self._run.clock.current_time()
        retry_in = self._finish(vertex, verdict, causes, started, now)
        if verdict.outcome is not _OK:
            causes = await self._label(causes, resource)
        if memory is not None and verdict.outcome in _APPLIED:
            memory.applied(resource)
            if refresh:
                memory.refreshed(resource.ref)
        self._herald.checked(vertex, causes, verdict, now - started, retry_in)
        if self._reversals.pending and verdict.outcome in (Outcome.OK, Outcome.CHANGED):
            self._retire_undone(vertex, resource)
        self.tell_transitions(vertex)
        return now

    def _begins(self, vertex: int, ref: str, refreshing: Memory | None) -> None:
        if self._hears_nothing:
            self.rereading.begins(vertex)
        if refreshing is not None:
            refreshing.begins(ref)

    async def _careful_verdict(
        self, vertex: int, resource: Resource, refresh: bool, noop: bool, monitor_only: bool
    ) -> Verdict:
        """The same where mounts may not answer, for a resource with late properties, or one that stands for others."""
        if not monitor_only and (silence := await self._silence(looked_at(resource))):
            return Verdict(Outcome.FAILED, error=silence.message, hint=silence.hint)
        if resource.late is None and not resource.members:
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
        if (undone := self.second_look.found.pop(vertex, None)) is not None:
            return undone
        verdict = AS_DESIRED
        if not monitor_only:
            verdict = await check(
                resource,
                refresh=refresh,
                noop=noop,
                diff=self._run.options.diff,
                before_apply=partial(self._rehearsal.take if noop else self._before_apply, vertex),
                apply=partial(self._gatherings.apply, vertex) if vertex in self._parties else None,
            )
        if resource.health_checks:
            verdict = await self._examined(vertex, resource, verdict)
        if self._foregone.has_takers and verdict.outcome in (Outcome.OK, Outcome.CHANGED):
            return await self._published(resource, verdict)
        return verdict

    async def _foregone_verdict(self, vertex: int, refresh: bool, noop: bool, monitor_only: bool) -> Verdict:
        """The same for a resource with late properties, or one that stands for others."""
        verdict = await self._foregone.verdict(vertex, self._scheduler.blame, refresh=refresh, noop=noop)
        # Watches that changed just now hold the vertex, which ends this check.
        await trio.lowlevel.checkpoint()
        if verdict is None:
            resource = self._roster.resources[vertex]
            return await self._verdict(vertex, resource, refresh, noop, monitor_only)
        if verdict.outcome is Outcome.CHANGED:
            await self._before_apply(vertex, None)
        resource = self._roster.resources[vertex]
        if resource.members and resource.health_checks:
            return await self._examined(vertex, resource, verdict)
        return verdict

    async def _followed(self, vertex: int, resource: Resource, verdict: Verdict) -> Verdict | None:
        """The verdict once the manifest is loaded that there may be now; None when the check is to begin again."""
        if verdict.outcome is _FAILED and isinstance(resource, Composite) and resource.is_missing:
            return await self._renewed(resource, verdict)
        if verdict.outcome in _DIFFERS:
            return await self.following.judged(vertex, resource, verdict)
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
        return Verdict(Outcome.FAILED, error=message, hint="mend what was wrong with it when it was loaded")

    async def _published(self, resource: Resource, verdict: Verdict) -> Verdict:
        """Hand on what others take from ``resource``; those that rest are checked if it is news to them."""
        if self.fragile.by_point and (silence := await self._silence(looked_at(resource))):
            return Verdict(Outcome.FAILED, verdict.actions, error=silence.message, hint=silence.hint)
        try:
            takers = await self._foregone.publish(resource)
        except ResourceError as error:
            return Verdict(Outcome.FAILED, verdict.actions, error=error.message, hint=error.hint)
        except OSError as error:
            return Verdict(Outcome.FAILED, verdict.actions, error=f"its outputs can't be told: {error}")
        for taker in takers:
            if not self._scheduler.in_motion(taker):
                self._run.mark(taker, Cause.INTENT)
        return verdict

    def tell_transitions(self, *checked: int) -> None:
        """Tell who became blocked or free; what stands for them, or for those just checked, is judged anew."""
        blame = self._scheduler.blame
        crossed = self._herald.transitions(blame) if blame.transitions else ()
        if self._foregone.has_wholes:
            for whole in self._foregone.restless((*checked, *crossed), blame.blocked):
                self._run.mark(whole, Cause.DRIFT)

    async def _label(self, causes: Cause, resource: Resource) -> Cause:
        """Tell a first change from one that comes from the manifest, or from drift while nobody looked.

        A refresh that is owed from an earlier life is reason enough: then nothing need have drifted. What an event
        announced is no drift either, if it was a file that the manifest pulls in; nor is what every run does anyway.
        """
        bits = int(causes)  # to combine members of the class takes twenty times as long
        if self._memory is None or not bits & (_INITIAL | _DRIFT):
            return causes
        if self.fragile.by_point and await self._silence(resource.reads()):
            return causes
        known = self._memory.cause_of(resource)
        if bits & _INITIAL:
            others = bits & ~_INITIAL
            if known is Cause.DRIFT and resource.unconditional:
                known = Cause.INITIAL
            return CAUSE_SETS[others if others and known is Cause.DRIFT else others | known.value]
        return CAUSE_SETS[bits & ~_DRIFT | known.value] if known is Cause.INTENT else causes

    async def _before_apply(self, vertex: int, state: Any) -> None:
        """The point of no return of a check that found ``state``: from here on, the world may have changed."""
        if (resource := self._roster.resources[vertex]).meta.reverse:
            await self._reversals.record(resource, state)
        below, left_out = self._scheduler.topology.notify[vertex], self._roster.left_out
        if self._memory is not None and (below or left_out):
            refs = self._roster.refs
            subscribers = [*(refs[each] for each in below), *left_out.get(refs[vertex], ())]
            if subscribers:
                await self._memory.intend(refs[vertex], subscribers)
        if self._hears_nothing:
            self.second_look.changes(vertex)
            self.following.touched()
            self.rereading.changes(vertex)
        self._scheduler.refreshes.touched(vertex)

    # ---- what a run without watches looks at once more when it comes to rest ----

    @property
    def owes_another_look(self) -> bool:
        """Whether something was changed that others may depend on, and no event told them."""
        return self.following.is_due or self.rereading.is_due or self.second_look.is_due

    @property
    def looks_again(self) -> bool:
        """Whether that look is under way."""
        return self.following.is_under_way or self.second_look.is_under_way

    async def look_again(self) -> None:
        """Follow the manifest; else check what reads a file that has changed; else see who undid whom."""
        if self.following.is_due and await self.following.take():
            return
        blocked = self._scheduler.blame.blocked
        for vertex in (stale := self.rereading.take(self._settled(blocked)) if self.rereading.is_due else []):
            self._run.mark(vertex, Cause.INTENT)
        if stale or not self.second_look.is_due:
            return
        for vertex in await self.second_look.take(blocked):
            self._run.mark(vertex, Cause.DRIFT)

    def _settled(self, blocked: Collection[int]) -> list[int]:
        present = sorted(self._roster.present)
        return [vertex for vertex in present if self._ledger.result(vertex, blocked) in _SETTLED]

    def _retire_undone(self, vertex: int, checked: Resource) -> None:
        """If ``checked`` undid a resource, and is not one that was just about to leave, ``vertex`` has left the run."""
        if checked is self._roster.resources[vertex] and self._reversals.done(checked.ref):
            self._roster.present.discard(vertex)
            self._ledger.forget([vertex])
            self._herald.reversed(vertex)

    def void(self, vertex: int) -> None:
        """The check of ``vertex`` was cancelled: it is no answer, and is owed again."""
        self._scheduler.finished(vertex, Outcome.CANCELLED, trio.current_time())
        self._gatherings.look()

    def _finish(
        self, vertex: int, verdict: Verdict, causes: Cause, started: float, now: float
    ) -> float | None:
        if verdict.outcome is _CHANGED:
            self.last_change = now
            if int(causes) & _DRIFT:
                self._see_fight(vertex, verdict, started, now)
        retry_in = self._scheduler.finished(vertex, verdict.outcome, now)
        if self._gatherings.open:
            self._gatherings.look()
        return retry_in

    def _see_fight(self, vertex: int, verdict: Verdict, started: float, now: float) -> None:
        took = now - started
        if self._roster.resources[vertex].meta.poll is not None:
            took = 0.0  # what is looked for on a clock may be work that comes steadily, and takes its time
        if (flare := self._fights.repaired(vertex, verdict.actions, took, now)) is None:
            return
        self._scheduler.agenda.slow_down(vertex, now + flare.wait)
        if flare.news is not None:
            self._herald.flapping(vertex, flare.news)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph: who gets their numbers has not been fought over."""
        self._fights.forget(vertices)

    def say(self, vertex: int, line: str) -> None:
        """Pass on a line that the running check of ``vertex`` said."""
        self._herald.said(vertex, line)

    def note(self, vertex: int, line: str) -> None:
        """Pass on what the running check of ``vertex`` said of it that is kept."""
        self._herald.noted(vertex, line)
