"""The trio driver: workers that run checks, a task that keeps time, watchers that mark. The scheduler decides.

A few workers park until something is ready. A check that never suspends (a small file) costs no task switch; one
that does (a command) leaves the other workers to go on. All state is touched by one thread only, trio's.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping

import trio

from reactor.engine.audit import Audit
from reactor.engine.check import Verdict, check
from reactor.engine.events import (
    AuditFound,
    Blocked,
    Cause,
    Checked,
    Converged,
    Ended,
    Event,
    Output,
    Result,
    Unblocked,
)
from reactor.engine.ledger import Ledger
from reactor.engine.limits import DEFAULT_LIMITS, UNLIMITED, Limits
from reactor.engine.options import Options
from reactor.engine.scheduler import Outcome, Scheduler
from reactor.engine.watching import Watching
from reactor.graph.graph import Graph
from reactor.graph.topology import Topology
from reactor.resource.base import DEFAULT_META, Resource
from reactor.resource.registry import find_watchers
from reactor.resource.speech import speaker
from reactor.resource.watch import Watch, Watcher

SLICE = 0.0005
"""Seconds of uninterrupted work after which a worker lets the event descriptors be read."""

_RESULTS = {
    Outcome.OK: Result.OK,
    Outcome.CHANGED: Result.CHANGED,
    Outcome.WOULD_CHANGE: Result.WOULD_CHANGE,
    Outcome.FAILED: Result.FAILED,
}


class Engine:
    """Converges one graph, and with ``options.watch`` keeps it converged.

    ``emit`` gets every `Event` as it happens; it must return quickly and must not raise. ``watchers`` says who
    listens for which declaration; by default those installed.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        emit: Callable[[Event], None],
        *,
        watchers: Mapping[type[Watch], type[Watcher]] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.options = options
        self.emit = emit
        self.refs = graph.refs
        self.resources = list(graph.resources.values())
        self.ledger = Ledger(self.refs)
        self._rng = rng or random.Random()  # noqa: S311 - jitter needs no secrecy
        limits = _limits(self.resources, noop=options.noop)
        self.scheduler = Scheduler(
            Topology.of(graph),
            jobs=options.jobs,
            default_retry=UNLIMITED if options.watch else 0,
            fail_fast=options.fail_fast,
            limits={v: limit for v, limit in enumerate(limits) if limit is not DEFAULT_LIMITS},
            rng=self._rng,
        )
        self._watchers = watchers
        self._noop = bytearray(limit.noop for limit in limits)
        self._parked = trio.lowlevel.ParkingLot()
        self._workers: dict[int, _Worker] = {}
        self._worker_count = 0
        self._wake_pending = False
        self._stopping = ""
        self._over = trio.Event()
        self._nap = trio.CancelScope()
        self._unrest_since: float | None = None
        self._last_change = 0.0
        self._frozen = False

    # ---- the run ----

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> Ended:
        """Run to the end: quiescence, a stop, or with ``watch`` never by itself. Returns the last event."""
        started = self._unrest_since = self._last_change = trio.current_time()
        with trio.CancelScope() as self._everything:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._keep_time)
                if self.options.watch:
                    self._watch()
                for vertex in range(len(self.refs)):
                    self.scheduler.mark(vertex, Cause.INITIAL, started)
                self._start_worker()
                task_status.started()
                await self._over.wait()
                self._nursery.cancel_scope.cancel()
        ended = self._end(trio.current_time() - started)
        self.emit(ended)
        return ended

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
        return [self.refs[vertex] for vertex in sorted(self._workers)]

    def _watch(self) -> None:
        watching = Watching(self, find_watchers() if self._watchers is None else self._watchers)
        watching.start(self._nursery)
        if self.options.audit_interval is not None:
            self._nursery.start_soon(Audit(self, self.options.audit_interval, self._rng).run)
        if self.options.converged_timeout is not None:
            self._nursery.start_soon(self._end_when_quiet, self.options.converged_timeout)

    async def _end_when_quiet(self, quiet: float) -> None:
        while (left := self._last_change + quiet - trio.current_time()) > 0:
            await trio.sleep(left)
            if self.scheduler.order.moving:  # a check that is under way may still change something
                self._last_change = trio.current_time()
        self._stopping = f"nothing changed for {quiet:g} s"
        self._over.set()

    def _end(self, duration: float) -> Ended:
        why = self._stopping or "nothing is left to do"
        if self.options.fail_fast and self.scheduler.blame.failed:
            why = f"{self.refs[min(self.scheduler.blame.failed)]} failed and fail_fast is set"
        blocked = self.scheduler.blame.blocked
        for skipped in self.ledger.close(blocked, time.time(), why):
            self.emit(skipped)
        return Ended(time.time(), self.ledger.counts(blocked), self.ledger.changes, duration, why)

    # ---- what watchers and timers say ----

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now; returns at once."""
        now = trio.current_time()
        if self._unrest_since is None:
            self._unrest_since = now
        self.scheduler.mark(vertex, cause, now, delay)
        self._after_marks()

    def hold(self, vertex: int) -> None:
        """Check ``vertex`` no more until `release`, and void the check that runs."""
        self.scheduler.hold(vertex)
        if (worker := self._workers.get(vertex)) is not None:
            worker.scope.cancel()

    def release(self, vertex: int) -> None:
        """Take a `hold` back."""
        self.scheduler.release(vertex)
        self._tell_transitions()
        self._after_marks()

    def _after_marks(self) -> None:
        if self.scheduler.has_ready:
            self._wake()
        self._set_alarm()

    async def _keep_time(self) -> None:
        while True:
            with trio.CancelScope(deadline=self.scheduler.wake_at()) as self._nap:
                await trio.sleep_forever()
            self.scheduler.elapsed(trio.current_time())
            if self.scheduler.has_ready:
                self._wake()

    def _set_alarm(self) -> None:
        if (due := self.scheduler.wake_at()) < self._nap.deadline:
            self._nap.deadline = due

    # ---- workers ----

    def _wake(self) -> None:
        """Have one more worker look for work; one that is on its way is enough, it wakes the next."""
        if self._wake_pending:
            return
        if self._parked:
            self._wake_pending = True
            self._parked.unpark()
        elif self._worker_count < self.options.jobs:
            self._start_worker()

    def _start_worker(self) -> None:
        self._wake_pending = True
        self._worker_count += 1
        self._nursery.start_soon(_Worker(self).run)

    async def park(self) -> None:
        """Wait until there may be work."""
        await self._parked.park()

    def take(self, worker: _Worker, now: float) -> int | None:
        """The next vertex to check, now ``worker``'s; None when there is none."""
        self._wake_pending = False
        vertex = None if self._stopping else self.scheduler.next_ready(now)
        if vertex is None:
            self._set_alarm()
            self._rest()
            return None
        self._workers[vertex] = worker
        if self.scheduler.has_ready:
            self._wake()
        return vertex

    async def check(self, vertex: int, started: float) -> float:
        """Run the check of ``vertex`` and book how it ended. Takes and returns the time, so that it is asked once."""
        causes = self.scheduler.causes(vertex)
        noop = bool(self._noop[vertex])
        refresh = bool(causes.value & Cause.REFRESH.value)
        verdict = await check(self.resources[vertex], refresh=refresh, noop=noop, diff=self.options.diff)
        if noop and verdict.outcome is Outcome.FAILED:
            verdict = self._excuse(vertex, verdict)
        now = trio.current_time()
        retry_in = self._finish(vertex, verdict.outcome, now)
        self._tell(vertex, causes, verdict, now - started, retry_in)
        self._tell_transitions()
        return now

    def _excuse(self, vertex: int, verdict: Verdict) -> Verdict:
        """In noop, a failure below something that was not applied says nothing: the honest answer is "can't tell"."""
        for up in self.scheduler.topology.strong_predecessors[vertex]:
            if self.ledger.result(up, self.scheduler.blame.blocked) is Result.WOULD_CHANGE:
                text = f"Can't tell before {self.refs[up]} is applied ({verdict.error})"
                return Verdict(Outcome.WOULD_CHANGE, (text,))
        return verdict

    def void(self, vertex: int) -> None:
        """The check of ``vertex`` was cancelled: it is no answer, and is owed again."""
        self._finish(vertex, Outcome.CANCELLED, trio.current_time())

    def _finish(self, vertex: int, outcome: Outcome, now: float) -> float | None:
        del self._workers[vertex]
        retry_in = self.scheduler.finished(vertex, outcome, now)
        if outcome is Outcome.CHANGED:
            self._last_change = now
        return retry_in

    def _rest(self) -> None:
        """Nothing is ready: see whether that is convergence, the end, or only a pause."""
        if self.scheduler.active:
            return
        if self._stopping or (self.scheduler.exhausted and not self.options.watch):
            self._over.set()
        if self.scheduler.converged and self._unrest_since is not None:
            duration = trio.current_time() - self._unrest_since
            self._unrest_since = None
            self.emit(Converged(time.time(), len(self.refs), duration))
            self._freeze()

    def _freeze(self) -> None:
        """Take what lives for ever out of the garbage collector's way: a full collection walks it in vain."""
        if self.options.watch and not self._frozen:
            self._frozen = True
            gc.collect()
            gc.freeze()

    # ---- telling ----

    def _tell(
        self, vertex: int, causes: Cause, verdict: Verdict, duration: float, retry_in: float | None
    ) -> None:
        result = _RESULTS[verdict.outcome]
        self.ledger.book(vertex, result)
        now = time.time()
        ref = self.refs[vertex]
        self.emit(
            Checked(
                now, ref, result, causes, duration,
                verdict.actions, verdict.diffs, verdict.error, verdict.hint, retry_in,
            )
        )  # fmt: skip
        if result is Result.CHANGED and causes is Cause.AUDIT:
            self.emit(AuditFound(now, ref))

    def _tell_transitions(self) -> None:
        for vertex, blocked in self.scheduler.blame.take_transitions():
            ref = self.refs[vertex]
            if not blocked:
                self.emit(Unblocked(time.time(), ref))
            elif culprits := self.scheduler.blame.culprits(vertex):
                self.emit(Blocked(time.time(), ref, tuple(self.refs[culprit] for culprit in culprits)))


def _limits(resources: list[Resource], *, noop: bool) -> list[Limits]:
    """The limits of each vertex; those that say nothing of their own share one object."""
    usual = Limits(noop=True) if noop else DEFAULT_LIMITS
    return [usual if r.meta is DEFAULT_META else Limits.of(r.meta, noop=noop) for r in resources]


class _Worker:
    """One of the tasks that run checks. Only its own task touches it, but for ``scope``, which anyone may cancel."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.vertex: int | None = None
        self.scope = trio.CancelScope()

    async def run(self) -> None:
        """Check what is ready, park when nothing is, for ever."""
        speaker.set(self.say)
        while True:
            # Cancelling this scope voids the check that runs; the worker itself lives on.
            with trio.CancelScope() as self.scope:
                await self.work()
            if self.vertex is not None:
                self.engine.void(self.vertex)

    async def work(self) -> None:
        """Check one vertex after the other; now and then let the event descriptors be read."""
        now = trio.current_time()
        slice_end = now + SLICE
        while True:
            self.vertex = self.engine.take(self, now)
            if self.vertex is None:
                await self.engine.park()
            else:
                now = await self.engine.check(self.vertex, now)
                self.vertex = None
                if now <= slice_end:
                    continue
                await trio.lowlevel.checkpoint()
            now = trio.current_time()
            slice_end = now + SLICE

    def say(self, line: str) -> None:
        """Pass on a line the running check said."""
        if self.vertex is not None:
            self.engine.emit(Output(time.time(), self.engine.refs[self.vertex], line))
