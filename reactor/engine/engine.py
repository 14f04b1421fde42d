"""The trio driver: it runs the checks the scheduler asks for, and tells it what happened.

All state is touched by one thread only, trio's.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Mapping

import trio

from reactor.engine.audit import Audit
from reactor.engine.check import AS_DESIRED, Verdict, check
from reactor.engine.events import Cause, Ended, Event, Reloaded, Result
from reactor.engine.fights import Fights
from reactor.engine.herald import Herald
from reactor.engine.ledger import Ledger
from reactor.engine.limits import UNLIMITED
from reactor.engine.memory import Memory
from reactor.engine.options import Options
from reactor.engine.outcome import Outcome
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler
from reactor.engine.watching import Watching
from reactor.engine.workers import Alarm, Workers
from reactor.graph.graph import Graph
from reactor.resource.base import Resource
from reactor.resource.collector import collector_paused
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
        self.roster = Roster(noop=options.noop)
        self.ledger = Ledger()
        self._herald = Herald(self.roster, self.ledger, emit)
        self._memory = memory
        self._rng = rng or random.Random()  # noqa: S311 - jitter needs no secrecy
        topology, _ = self.roster.adopt(graph)
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

    def running(self) -> list[str]:
        """The refs whose checks run now."""
        return [self.roster.refs[vertex] for vertex in self._workers.checking()]

    def reload(self, graph: Graph) -> Reloaded:
        """Go over to another generation at once; nothing waits for a check that runs.

        What is equal in both keeps its watches, stamps, retries and debts. What left the graph is let go, not undone.
        """
        topology, difference = self.roster.adopt(graph)
        fresh = [*difference.changed, *difference.added]
        self._watching.forget([*difference.changed, *difference.gone])
        self.ledger.forget(difference.gone)
        self.scheduler.reshape(topology, self.roster.limits, fresh, difference.gone)
        for vertex in fresh:
            self._watching.declare(vertex, self.roster.resources[vertex])
        event = self._herald.reloaded(difference)
        for vertex in fresh:
            self.mark(vertex, Cause.INTENT)
        self._herald.transitions(self.scheduler.blame)
        self._after_marks()
        return event

    def listen(self, watch: Watch, callback: Callable[[], None]) -> None:
        """Call ``callback`` when ``watch`` tells of a change, for something that is no resource. Before `run` only."""
        self._watching.listen(watch, callback)

    def _start_watching(self, nursery: trio.Nursery) -> None:
        for vertex in sorted(self.roster.present):
            self._watching.declare(vertex, self.roster.resources[vertex])
        self._watching.start(nursery)
        if self.options.audit_interval is not None:
            nursery.start_soon(Audit(self, self.options.audit_interval, self._rng).run)
        nursery.start_soon(self._freeze_at_last)
        if self.options.converged_timeout is not None:
            nursery.start_soon(self._end_when_quiet, self.options.converged_timeout)

    def _mark_everything(self) -> None:
        self.scheduler.mark_all(Cause.INITIAL)
        if self._memory is not None:
            known = {self.roster.refs[vertex]: vertex for vertex in self.roster.present}
            for ref in self._memory.owed_refreshes():
                if ref in known:
                    self.scheduler.mark(known[ref], Cause.REFRESH, trio.current_time())

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
        self._herald.transitions(self.scheduler.blame)
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
        memory = None if noop else self._memory
        if refresh and memory is not None:
            memory.begins(resource.ref)
        verdict = await check(
            resource,
            refresh=refresh,
            noop=noop,
            diff=self.options.diff,
            before_apply=lambda: self._before_apply(vertex),
        )
        if noop and verdict.outcome is Outcome.FAILED:
            verdict = self._excuse(vertex, verdict)
        now = trio.current_time()
        retry_in = self._finish(vertex, verdict, causes, now)
        if verdict is not AS_DESIRED:
            causes = self._label(causes, resource)
        if memory is not None and verdict.outcome in (Outcome.OK, Outcome.CHANGED):
            memory.applied(resource)
            if refresh:
                memory.refreshed(resource.ref)
        self._herald.checked(vertex, causes, verdict, now - started, retry_in)
        self._herald.transitions(self.scheduler.blame)
        return now

    def _label(self, causes: Cause, resource: Resource) -> Cause:
        """Tell a first change from one that comes from the manifest, or from drift while nobody looked.

        A refresh that is owed from an earlier life is reason enough: then nothing need have drifted.
        """
        if self._memory is None or Cause.INITIAL not in causes:
            return causes
        known, others = self._memory.first_cause(resource), causes & ~Cause.INITIAL
        return others if others and known is Cause.DRIFT else others | known

    async def _before_apply(self, vertex: int) -> None:
        """The point of no return of a check: from here on, the world may have changed."""
        if self._memory is not None and (subscribers := self.scheduler.topology.notify[vertex]):
            refs = self.roster.refs
            await self._memory.intend(refs[vertex], [refs[below] for below in subscribers])
        self.scheduler.touched(vertex)

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
