"""The trio driver: it runs the checks the scheduler asks for, and tells it what happened.

All state is touched by one thread only, trio's.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import trio

from reactor.engine.audit import Audit
from reactor.engine.check import AS_DESIRED, Verdict, check, examined
from reactor.engine.events import Cause, Ended, Event, Reloaded, Result
from reactor.engine.fights import Fights
from reactor.engine.foregone import Foregone
from reactor.engine.herald import Herald
from reactor.engine.ledger import Ledger
from reactor.engine.limits import UNLIMITED
from reactor.engine.memory import Memory
from reactor.engine.options import Options
from reactor.engine.outcome import Outcome
from reactor.engine.reversals import Reversals
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler
from reactor.engine.watching import Watching
from reactor.engine.workers import Alarm, Workers
from reactor.graph.graph import Graph
from reactor.resource.base import Resource
from reactor.resource.collector import collector_paused
from reactor.resource.composite import Composite
from reactor.resource.registry import find_watchers
from reactor.resource.watch import Watch, Watcher

FREEZE_AT_LAST = 60.0
"""Seconds from the start."""


class Engine:
    """Converges one graph, and with ``options.watch`` keeps it converged.

    ``emit`` gets every `Event` as it happens; it must return quickly and must not raise. ``memory`` makes refreshes
    survive the process. ``watchers`` says who listens for which declaration; by default those installed.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        emit: Callable[[Event], None],
        *,
        memory: Memory | None = None,
        watchers: Mapping[type[Watch], type[Watcher]] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.options = options
        self.emit = emit
        self.renew: Callable[[], Awaitable[None]] | None = None
        """Loads the manifest anew and calls `reload`, if somebody does that for this run."""
        self.roster = Roster(noop=options.noop)
        self.ledger = Ledger()
        self._herald = Herald(self.roster, self.ledger, emit)
        self._foregone = Foregone(self.roster, self.ledger, self._redeclare)
        self._memory = memory
        undoing = not (options.noop or options.monitor_only or options.partial)
        self.reversals = Reversals(memory, undoing=undoing)
        self._rng = rng or random.Random()  # noqa: S311 - jitter needs no secrecy
        topology, _ = self.roster.adopt(self.reversals.join(graph))
        self.scheduler = Scheduler(
            topology,
            jobs=options.jobs,
            default_retry=UNLIMITED if options.watch else 0,
            fail_fast=options.fail_fast,
            limits=self.roster.limits,
            rng=self._rng,
        )
        self._workers = Workers(self, options.jobs)
        self._alarm = Alarm(self.scheduler.wake_at, self._ring)
        self._watching = Watching(
            self, watchers if watchers is not None or not options.watch else find_watchers()
        )
        self._fights = Fights()
        self._foregone.adopt()
        self._stopping = ""
        self._over = trio.Event()
        self._unrest_since: float | None = None
        self._last_change = 0.0
        self._frozen = False

    # ---- the run ----

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> Ended:
        """Run to the end: quiescence, a stop, or with ``watch`` never by itself. Returns the last event."""
        started = self._unrest_since = self._last_change = trio.current_time()
        with collector_paused(), trio.CancelScope() as self._everything:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._alarm.run)
                if self.options.watch:
                    self._start_watching(nursery)
                self._herald.reversing(self.reversals.pending)
                self._mark_everything()
                self._workers.start(nursery)
                task_status.started()
                await self._over.wait()
                nursery.cancel_scope.cancel()
        return self._herald.ended(self.scheduler.blame, trio.current_time() - started, self._why_ended())

    def stop(self) -> None:
        """Let running checks end and start no other; then `run` returns."""
        self._stopping = self._stopping or "stopped"
        self._rest()

    def cancel(self) -> None:
        """Cancel running checks too; `run` returns when they have cleaned up."""
        self._stopping = "cancelled"
        self._everything.cancel()

    def desired(self) -> list[Resource]:
        """The resources of the manifest that is in force."""
        vertices = sorted(self.roster.present)
        resources = (self.roster.resources[vertex] for vertex in vertices)
        return [resource for resource in resources if resource.ref not in self.reversals.pending]

    def running(self) -> list[str]:
        """The refs whose checks run now."""
        return [self.roster.refs[vertex] for vertex in self._workers.checking()]

    def reload(self, graph: Graph, options: Options | None = None) -> Reloaded:
        """Go over to another generation at once; nothing waits for a check that runs.

        Of ``options``, ``jobs`` and ``fail_fast`` may differ from what they were, and are in force from now on.
        What is equal in both keeps its watches, stamps, retries and debts. What left the graph is let go, and undone
        only if it asked for that.
        """
        if options is not None:
            self._adjust(options)
        self._foregone.settle_all(graph.resources)
        topology, difference = self.roster.adopt(self.reversals.join(graph))
        fresh = [*difference.changed, *difference.added]
        self._watching.forget([*difference.changed, *difference.gone])
        self.ledger.forget(difference.gone)
        self.scheduler.reshape(topology, self.roster.limits, fresh, difference.gone)
        self._declare(fresh)
        self._foregone.adopt()
        event = self._herald.reloaded(difference, self.reversals.pending)
        refs = (self.roster.refs[vertex] for vertex in fresh)
        self._herald.reversing(ref for ref in refs if ref in self.reversals.pending)
        for vertex in (*fresh, *self._foregone.reconsidered(difference.kept)):
            self.mark(vertex, Cause.INTENT)
        self._mark_debtors(fresh)
        self._tell_transitions()
        self._after_marks()
        self._rest()
        return event

    def _adjust(self, options: Options) -> None:
        self.options = replace(self.options, jobs=options.jobs, fail_fast=options.fail_fast)
        self.scheduler.jobs = options.jobs
        self.scheduler.fail_fast = options.fail_fast
        self._workers.allow(options.jobs)

    def listen(self, watch: Watch, callback: Callable[[], None]) -> int:
        """Call ``callback`` when ``watch`` tells of a change, for something that is no resource.

        Returns a number for `unlisten`.
        """
        return self._watching.listen(watch, callback)

    def unlisten(self, number: int) -> None:
        """Take a `listen` back."""
        self._watching.unlisten(number)

    def _start_watching(self, nursery: trio.Nursery) -> None:
        self._declare(sorted(self.roster.present))
        self._watching.start(nursery)
        if self.options.audit_interval is not None:
            nursery.start_soon(Audit(self, self.options.audit_interval, self._rng).run)
        nursery.start_soon(self._freeze_at_last)
        if self.options.converged_timeout is not None:
            nursery.start_soon(self._end_when_quiet, self.options.converged_timeout)

    def _declare(self, vertices: Iterable[int]) -> None:
        """Watch ``vertices``, but not what undoes a resource: once that has succeeded, drift is no concern of ours."""
        for vertex in vertices:
            if self.roster.refs[vertex] not in self.reversals.pending:
                self._watching.declare(vertex, self.roster.resources[vertex])

    def _mark_everything(self) -> None:
        self.scheduler.mark_all(Cause.INITIAL)
        self._mark_debtors(self.roster.present)

    def _mark_debtors(self, vertices: Iterable[int]) -> None:
        """Those of ``vertices`` that the memory knows to owe a refresh pay it with their next check."""
        if self._memory is None or not (owing := set(self._memory.owed_refreshes())):
            return
        for vertex in vertices:
            if self.roster.refs[vertex] in owing:
                self.scheduler.mark(vertex, Cause.REFRESH, trio.current_time())

    async def _end_when_quiet(self, quiet: float) -> None:
        while True:
            if self.scheduler.order.moving:  # what is under way may still change something
                self._last_change = trio.current_time()
            left = self._last_change + quiet - trio.current_time()
            if left <= 0:
                break
            await trio.sleep(left)
        self._stopping = f"nothing changed for {quiet:g} s"
        self._over.set()

    def _why_ended(self) -> str:
        failed = self.scheduler.blame.failed
        if self.options.fail_fast and failed:
            return f"{self.roster.refs[min(failed)]} failed and fail_fast is set"
        return self._stopping or "nothing is left to do"

    # ---- what watchers and timers say ----

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now; returns at once."""
        if vertex not in self.roster.present:
            return
        now = trio.current_time()
        if self._unrest_since is None:
            self._unrest_since = now
        self.scheduler.mark(vertex, cause, now, delay)
        self._after_marks()

    def hold(self, vertex: int) -> None:
        """Check ``vertex`` no more until `release`, and void the check that runs."""
        self.scheduler.hold(vertex)
        self._workers.cancel(vertex)

    def release(self, vertex: int) -> None:
        """Take a `hold` back."""
        self.scheduler.release(vertex)
        self._tell_transitions()
        self._after_marks()

    def pause(self, vertex: int) -> None:
        """Start no further check of ``vertex`` until `unpause`. One that runs goes on; marks are owed."""
        self.scheduler.pause(vertex)

    def unpause(self, vertex: int) -> None:
        """Take a `pause` back: a check that is owed starts now."""
        self.scheduler.unpause(vertex)
        self._after_marks()

    def _after_marks(self) -> None:
        if self.scheduler.has_ready:
            self._workers.wake()
        self._alarm.set()

    def _ring(self) -> None:
        self.scheduler.elapsed(trio.current_time())
        if self.scheduler.has_ready:
            self._workers.wake()

    # ---- checks ----

    def take(self, now: float) -> int | None:
        """The next vertex to check; None when there is none."""
        vertex = None if self._stopping else self.scheduler.next_ready(now)
        if vertex is None:
            self._alarm.set()
            self._rest()
        return vertex

    def suspended(self) -> None:
        """A check waits for something: let another worker go on, if there is anything to go on with."""
        if self.scheduler.has_ready:
            self._workers.wake()

    async def check(self, vertex: int, started: float) -> float:
        """Run the check of ``vertex`` and book how it ended; return the time it did."""
        causes = self.scheduler.causes(vertex)
        resource = self.roster.resources[vertex]
        noop = self.roster.noop(vertex)
        refresh = self.scheduler.carries_refresh(vertex)
        monitor_only = self.options.monitor_only or resource.meta.monitor_only
        memory = None if noop or monitor_only else self._memory
        if refresh and memory is not None:
            memory.begins(resource.ref)
        if resource.late is None and not resource.members:
            verdict = await self._verdict(vertex, resource, refresh, noop, monitor_only)
        else:
            verdict = await self._foregone_verdict(vertex, refresh, noop, monitor_only)
        if noop and verdict.outcome in (Outcome.FAILED, Outcome.UNHEALTHY):
            verdict = self._excuse(vertex, verdict)
        if verdict.outcome is Outcome.FAILED and await self._renewed(resource):
            self.void(vertex)
            return trio.current_time()
        now = trio.current_time()
        retry_in = self._finish(vertex, verdict, causes, now)
        if verdict.outcome is not Outcome.OK:
            causes = self._label(causes, resource)
        if memory is not None and verdict.outcome in (Outcome.OK, Outcome.CHANGED, Outcome.UNHEALTHY):
            memory.applied(resource)
            if refresh:
                memory.refreshed(resource.ref)
        self._herald.checked(vertex, causes, verdict, now - started, retry_in)
        if self.reversals.pending and verdict.outcome in (Outcome.OK, Outcome.CHANGED):
            self._retire_undone(vertex, resource)
        self._tell_transitions(vertex)
        return now

    async def _verdict(
        self, vertex: int, resource: Resource, refresh: bool, noop: bool, monitor_only: bool
    ) -> Verdict:
        verdict = AS_DESIRED
        if not monitor_only:
            verdict = await check(
                resource,
                refresh=refresh,
                noop=noop,
                diff=self.options.diff,
                before_apply=partial(self._before_apply, vertex),
            )
        if resource.health_checks:
            verdict = await examined(resource, verdict)
        if self._foregone.has_takers and verdict.outcome in (Outcome.OK, Outcome.CHANGED):
            await self._publish(resource)
        return verdict

    async def _foregone_verdict(self, vertex: int, refresh: bool, noop: bool, monitor_only: bool) -> Verdict:
        """The same for a resource with late properties, or one that stands for others."""
        verdict = self._foregone.verdict(vertex, self.scheduler.blame.blocked, refresh=refresh)
        if verdict is None:
            await (
                trio.lowlevel.checkpoint()
            )  # watches that changed just now hold the vertex, which ends this check
            resource = self.roster.resources[vertex]
            return await self._verdict(vertex, resource, refresh, noop, monitor_only)
        if verdict.outcome is Outcome.CHANGED:
            await self._before_apply(vertex, None)
        return verdict

    async def _renewed(self, resource: Resource) -> bool:
        """Whether ``resource`` failed for want of a manifest that has been made meanwhile, and is loaded now."""
        if self.renew is None or not (isinstance(resource, Composite) and resource.has_appeared()):
            return False
        await self.renew()
        return True

    async def _publish(self, resource: Resource) -> None:
        """Hand on what others take from ``resource``; those that rest are checked if it is news to them."""
        for taker in await self._foregone.publish(resource):
            if not self.scheduler.in_motion(taker):
                self.mark(taker, Cause.INTENT)

    def _tell_transitions(self, *checked: int) -> None:
        """Tell who became blocked or free; what stands for them, or for those just checked, is judged anew."""
        blame = self.scheduler.blame
        crossed = self._herald.transitions(blame) if blame.has_transitions else ()
        if self._foregone.has_wholes:
            for whole in self._foregone.restless((*checked, *crossed), blame.blocked):
                self.mark(whole, Cause.DRIFT)

    def _redeclare(self, vertex: int) -> None:
        """The resource of ``vertex`` has other watches now. It is not checked before they are armed."""
        if self.options.watch:
            self._watching.forget([vertex])
            self._watching.declare(vertex, self.roster.resources[vertex])

    def _label(self, causes: Cause, resource: Resource) -> Cause:
        """Tell a first change from one that comes from the manifest, or from drift while nobody looked.

        A refresh that is owed from an earlier life is reason enough: then nothing need have drifted. What an event
        announced is no drift either, if it was a file that the manifest pulls in.
        """
        if self._memory is None or not causes & (Cause.INITIAL | Cause.DRIFT):
            return causes
        known = self._memory.cause_of(resource)
        if Cause.INITIAL in causes:
            others = causes & ~Cause.INITIAL
            return others if others and known is Cause.DRIFT else others | known
        return causes & ~Cause.DRIFT | known if known is Cause.INTENT else causes

    async def _before_apply(self, vertex: int, state: Any) -> None:
        """The point of no return of a check that found ``state``: from here on, the world may have changed."""
        if (resource := self.roster.resources[vertex]).meta.reverse:
            await self.reversals.record(resource, state)
        if self._memory is not None and (subscribers := self.scheduler.topology.notify[vertex]):
            refs = self.roster.refs
            await self._memory.intend(refs[vertex], [refs[below] for below in subscribers])
        self.scheduler.touched(vertex)

    def _retire_undone(self, vertex: int, checked: Resource) -> None:
        """If ``checked`` undid a resource, and is not one that was just about to leave, ``vertex`` has left the run."""
        if checked is self.roster.resources[vertex] and self.reversals.done(checked.ref):
            self.roster.present.discard(vertex)
            self.ledger.forget([vertex])
            self._herald.reversed(vertex)

    def _excuse(self, vertex: int, verdict: Verdict) -> Verdict:
        """In noop, a failure below something that was not applied says nothing: the honest answer is "can't tell"."""
        for up in self.scheduler.topology.strong_predecessors[vertex]:
            if self.ledger.result(up, self.scheduler.blame.blocked) is Result.WOULD_CHANGE:
                text = f"Can't tell before {self.roster.refs[up]} is applied ({verdict.error})"
                return Verdict(Outcome.WOULD_CHANGE, (text,))
        return verdict

    def void(self, vertex: int) -> None:
        """The check of ``vertex`` was cancelled: it is no answer, and is owed again."""
        self.scheduler.finished(vertex, Outcome.CANCELLED, trio.current_time())

    def _finish(self, vertex: int, verdict: Verdict, causes: Cause, now: float) -> float | None:
        if verdict.outcome is Outcome.CHANGED:
            self._last_change = now
            if causes.value & Cause.DRIFT.value:
                self._see_fight(vertex, verdict, now)
        return self.scheduler.finished(vertex, verdict.outcome, now)

    def _see_fight(self, vertex: int, verdict: Verdict, now: float) -> None:
        if (flare := self._fights.repaired(vertex, verdict.actions, now)) is None:
            return
        self.scheduler.slow_down(vertex, now + flare.wait)
        if flare.news is not None:
            self._herald.flapping(vertex, flare.news)

    def _rest(self) -> None:
        """Nothing is ready: see whether that is convergence, the end, or only a pause."""
        if self.scheduler.active:
            return
        if self._stopping or (self.scheduler.exhausted and not self.options.watch):
            self._over.set()
        if self.scheduler.converged and self._unrest_since is not None:
            self._herald.converged(trio.current_time() - self._unrest_since)
            self._unrest_since = None
        self._freeze()

    def _freeze(self) -> None:
        """Let the garbage collector work, but not on what lives for ever: a full collection walks that in vain."""
        if self.options.watch and not self._frozen:
            self._frozen = True
            gc.collect()
            gc.freeze()
            gc.enable()

    async def _freeze_at_last(self) -> None:
        """A run that never rests, because of a command that does not end, needs the collector too."""
        await trio.sleep(FREEZE_AT_LAST)
        self._freeze()

    def say(self, vertex: int, line: str) -> None:
        """Pass on a line that the running check of ``vertex`` said."""
        self._herald.said(vertex, line)
