"""The scheduler: who may run now, who waits for whom, what is owed. A state machine without I/O or clock.

It is told what happened (`mark`, `finished`, `elapsed`, `hold`, `release`, `reshape`) and asked who may run
(`next_ready`) and when to come back (`delay_queue`). Its promises, each an invariant in
``tests/engine/test_scheduler_promises.py``:

1. Order: a vertex never starts while any ancestor is in motion (`order`).
2. One at a time: a vertex never runs twice at once.
3. No event is lost: a mark during a run leads to one more run; if the run fails, that is its retry.
4. No refresh is lost: it is owed until a run with it succeeded, also over `reshape` and in `debouncer` (`refreshes`).
5. Failure is local: it blocks strong descendants and the rest of an order that it ends, until it recovers (`blocking`).
6. It ends: without outside events, nothing stays in motion.
7. Work is local: what is not below a marked vertex is not touched.
8. Limits delay, never drop.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection, Mapping
from functools import partial

from reactor.engine.admission import Admission
from reactor.engine.blocking import Blocking, FailFast
from reactor.engine.delay_queue import DelayQueue
from reactor.engine.events import CAUSE_SETS, Cause
from reactor.engine.limits import UNLIMITED, Limits
from reactor.engine.outcome import Outcome
from reactor.engine.readiness import Readiness
from reactor.engine.refreshes import RefreshDebouncer, Refreshes
from reactor.engine.retries import Retries
from reactor.graph.topology import Topology

_Vertices = Collection[int]
_CANCELLED = Outcome.CANCELLED  # see there
_UNWELL = (Outcome.UNHEALTHY, Outcome.CRITICAL)
_BAD = (Outcome.FAILED, *_UNWELL)
_DRIFT = int(Cause.DRIFT)
_ONLY_LOOKED_AT = int(Cause.DRIFT | Cause.AUDIT)
_REFRESH = int(Cause.REFRESH)
_RETRY = int(Cause.RETRY)
_REPAIR = int(Cause.RETRY | Cause.HEALTH)
_DONE = int(Cause.REFRESH | Cause.HEALTH)


class Scheduler:
    """The state of every vertex of one graph.

    ``jobs`` bounds what runs at once. ``default_retry`` is for vertices whose limits name none. With ``fail_fast``
    nothing but what failed, and its ancestors, starts while anything has failed that `blocking` finds answerable. Times are
    of a steady clock.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        jobs: int,
        default_retry: int = UNLIMITED,
        fail_fast: bool = False,
        limits: Mapping[int, Limits] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.topology = topology
        self.jobs = jobs
        self.fail_fast = fail_fast
        self.order = Readiness(topology.successors, self._cleared)
        self.blocking = Blocking(topology)
        self._barrier = FailFast(topology, self.blocking)
        self.debouncer = RefreshDebouncer()
        self.active = 0
        """How many jobs are taken: one by each vertex that runs, or by all that run together."""
        self._retries = Retries(default_retry, rng or random.Random())  # noqa: S311 - jitter needs no secrecy
        self.delay_queue = DelayQueue(self._retries)
        self._start_at, self._slowed = self.delay_queue.start_at, self.delay_queue.slowed
        self._admission = Admission(limits or {}, self.delay_queue)
        self.batches = self._admission.batches
        self.refreshes = Refreshes(topology, self._admission, self.debouncer, self.mark)
        self._owed = bytearray(topology.size)
        self.without_job: set[int] = set()
        """Vertices that run and leave their jobs to others."""
        self._running: dict[int, int] = {}
        self.running: Collection[int] = self._running.keys()
        self._gone: set[int] = set()
        self._paused: set[int] = set()
        self._ready: deque[int] = deque()

    # ---- what happened ----

    def mark(self, vertex: int, cause: Cause, now: float, delay: float = 0.0) -> None:
        """Something about ``vertex`` may have changed: it owes a check, to start ``delay`` seconds from now."""
        self._owed[vertex] = int.__or__(self._owed[vertex], cause)  # that of IntFlag takes ten times as long
        if vertex in self._running:
            return
        if vertex in self.blocking.failed and cause is not Cause.RETRY:
            self._retries.count_anew(vertex)
        if vertex in self.blocking.blocked:
            return
        start = self.delay_queue.earliest(vertex, now + delay, failed=vertex in self.blocking.failed)
        if not self.order.active[vertex]:
            if self._rests(vertex, now):
                return
            self.order.begin(vertex)
        elif self._start_at.get(vertex, now) <= start:
            return
        self._schedule(vertex, start, now)

    def mark_all(self, cause: Cause) -> None:
        """Every vertex owes a check, at the start of a life, when none did: as so many marks, and much faster."""
        self._owed = bytearray(bytes((cause,)) * self.topology.size)
        self.order.begin_all(self.topology.indegree)
        self._ready.extend(v for v, waiting in enumerate(self.order.waiting) if not waiting)

    def hold(self, vertex: int) -> None:
        """Let ``vertex`` not start, nor anything below it, until `release`: its watch is not armed."""
        self.order.hold(vertex)

    def release(self, vertex: int) -> None:
        """Take one `hold` back."""
        self.order.release(vertex)

    def pause(self, vertex: int) -> None:
        """Let ``vertex`` not start until `unpause`. What is below it waits only once it owes a check."""
        self._paused.add(vertex)

    def unpause(self, vertex: int) -> None:
        """Take a `pause` back."""
        self._paused.discard(vertex)
        if self._may_start(vertex):
            self._ready.append(vertex)

    def next_ready(self, now: float) -> int | None:
        """The next vertex that may start, now counted as running; None when there is none."""
        if self.batches.followers:
            return self.batches.followers.popleft()
        while self._ready and self.active - len(self.without_job) < self.jobs:
            vertex = self._ready.popleft()
            if self._start(vertex, now):
                self.active += 1
                if vertex in self.batches.of:
                    self.batches.lead(vertex, partial(self._start, now=now))
                return vertex
        return None

    def release_job(self, vertex: int) -> None:
        """From now on, the run of ``vertex`` takes no job of its own."""
        if vertex not in self.batches.batch:
            self.without_job.add(vertex)

    @property
    def _has_room(self) -> bool:
        return self.active - len(self.without_job) < self.jobs

    def finished(self, vertex: int, outcome: Outcome, now: float) -> float | None:
        """The run of ``vertex`` ended. Returns the seconds until it is retried, or None when it is not."""
        carried = self._running.pop(vertex)
        self.without_job.discard(vertex)
        job_ended, woken = self._admission.leave(vertex)
        if job_ended:
            self.active -= 1
        self._ready.extend(woken)
        if vertex in self._gone:
            self.order.end(vertex)
            return None
        again, wait = self._owed[vertex], None
        if outcome in _BAD:
            self._owed[vertex] |= _left(outcome, carried)
            fresh = again & ~_DRIFT
            wait = self._fail(vertex, now, fresh=bool(fresh), echoed=again != fresh)
            if not self._retries.is_first(vertex):
                again = fresh  # events may be echoes of what failed, for ever; the retry is the check they ask for
            if outcome in _UNWELL:
                self.refreshes.propagate(vertex, Outcome.OK, now)
        elif outcome is _CANCELLED:
            self._owed[vertex] |= carried
            again |= carried
        else:
            self._succeed(vertex, outcome, now)
        if self.blocking.is_blocked(vertex):
            self.blocking.block(vertex, self.order.active)
            self.order.end(vertex)
        elif again and not self._rests(vertex, now):
            failed = vertex in self.blocking.failed
            self._schedule(vertex, self.delay_queue.earliest(vertex, now, failed=failed), now)
        else:
            self.order.end(vertex)
        return wait

    def elapsed(self, now: float) -> None:
        """The clock says ``now``: start what waited for it, retry what failed long enough ago."""
        for vertex, cause in self.delay_queue.due(now):
            if cause is not None:
                self.mark(vertex, cause, now)
            elif not self.order.waiting[vertex]:
                self._ready.append(vertex)

    def reshape(
        self, topology: Topology, limits: Mapping[int, Limits], changed: _Vertices, gone: _Vertices
    ) -> None:
        """Go on with another graph. Vertices keep their numbers; there may be more of them.

        ``changed``, and what is new, forget that they failed; what they owe stays owed. ``gone`` are no part of the
        graph any more, and owe nothing: one that runs is let end, and that is all, unless it comes back before that.
        Mark what is new or changed afterwards.
        """
        self.topology = topology
        self._admission.reshape(limits)
        self._owed += bytes(topology.size - len(self._owed))
        untold = self.refreshes.reshape(topology, gone)
        for vertex in untold:
            self._owed[vertex] |= _REFRESH
            if vertex in self.blocking.failed:
                self._retries.count_anew(vertex)
        self._gone = (self._gone & self._running.keys() | set(gone)).difference(changed)
        failed = self.blocking.failed - set(changed) - self._gone
        freed = {v for v in (*self.blocking.blocked, *changed, *untold) if self._owed[v]} - self._gone
        for vertex in (*changed, *gone):
            self._retries.forget(vertex)
            self.delay_queue.forget(vertex)
            self.debouncer.forget(vertex)
        for vertex in gone:
            self._forget(vertex)
        self.order.reshape(topology.successors, self._gone - self._running.keys())
        runs = bytearray(vertex in self._running for vertex in range(topology.size))
        self.blocking.reshape(topology, sorted(failed), moves=runs)
        self._reorder(freed)

    # ---- what to do ----

    @property
    def has_ready(self) -> bool:
        """Whether `next_ready` is worth asking."""
        return bool(self.batches.followers) or (bool(self._ready) and self._has_room)

    @property
    def under_way(self) -> bool:
        """Whether a check runs or is about to, but for another attempt. What only a pause keeps back is not."""
        return bool(
            self.active or self._start_at or self.delay_queue.resting or self.has_ready or self.order.is_held
        )

    @property
    def exhausted(self) -> bool:
        """Whether nothing will happen any more without a new mark (ask after `next_ready` said None)."""
        return not (self.under_way or self._retries.due)

    @property
    def at_rest(self) -> bool:
        """Whether nothing is owed, not even another attempt."""
        return not (self.order.active_count or self._retries.due or self.delay_queue.resting)

    @property
    def converged(self) -> bool:
        """Whether nothing is in motion, and nothing failed or is blocked."""
        return not (
            self.order.active_count
            or self.blocking.failed
            or self.blocking.blocked
            or self.delay_queue.resting
        )

    def causes(self, vertex: int) -> Cause:
        """Why ``vertex`` runs, or is owed a run."""
        return CAUSE_SETS[self._running.get(vertex, self._owed[vertex])]

    def in_motion(self, vertex: int) -> bool:
        """Whether ``vertex`` is dirty or running."""
        return bool(self.order.active[vertex])

    # ---- starting and ending ----

    def _may_start(self, vertex: int) -> bool:
        return (
            bool(self.order.active[vertex])
            and not self.order.waiting[vertex]
            and vertex not in self._running
            and vertex not in self._start_at
            and vertex not in self._paused
        )

    def _start(self, vertex: int, now: float) -> bool:
        """Count ``vertex`` as running, if nothing is in its way; else somebody comes back to it."""
        if not self._may_start(vertex):
            return False
        if self.fail_fast and self._barrier.holds_back(vertex):
            return False
        if vertex in self._slowed:
            start = self.delay_queue.earliest(vertex, now, failed=False)
            if start > now:  # `mark` put it off already, unless it was blocked, or was slowed down since
                self._schedule(vertex, start, now)
                return False
        owed, later = self._owed[vertex], 0
        if vertex in self._admission.limits or self.debouncer.pending:
            later = self.debouncer.deferred_causes(vertex, owed, now)
            if owed == later:
                self._schedule(vertex, self.debouncer.due(vertex) or now, now)
                return False
            if not self._admission.admits(vertex, now):
                return False
            if (owed ^ later) & _REFRESH:
                self.debouncer.forget(vertex)
        self._running[vertex] = owed ^ later
        self._owed[vertex] = later
        if vertex in self._retries.due:
            self._retries.began(vertex)
        return True

    def _rests(self, vertex: int, now: float) -> bool:
        """Whether ``vertex`` waits at rest because it is fought over, and owes nothing but another repair."""
        return not self._owed[vertex] & ~_ONLY_LOOKED_AT and self.delay_queue.rests(vertex, now)

    def _schedule(self, vertex: int, start: float, now: float) -> None:
        if start > now:
            self.delay_queue.delay_until(vertex, start)
            return
        self._start_at.pop(vertex, None)
        if not self.order.waiting[vertex]:
            self._ready.append(vertex)

    def _cleared(self, vertex: int) -> bool:
        """All that ``vertex`` waited for has settled. Returns whether it is blocked by it."""
        if vertex in self._running:
            return False
        if self.blocking.is_blocked(vertex):
            self._start_at.pop(vertex, None)
            self.blocking.block(vertex, self.order.active)
            return True
        if vertex not in self._start_at:
            self._ready.append(vertex)
        return False

    def _fail(self, vertex: int, now: float, **meanwhile: bool) -> float | None:
        self.blocking.fail(vertex, self.order.active)
        if self.fail_fast:
            self._ready.extend(self._barrier.failed(vertex))
        wait = self._retries.failed(vertex, self._admission.limits_of(vertex), now, **meanwhile)
        if wait is not None:
            self.delay_queue.wake_at(vertex, now + wait)
        return wait

    def _succeed(self, vertex: int, outcome: Outcome, now: float) -> None:
        if vertex in self.blocking.failed:
            self._retries.succeeded(vertex)
            self.blocking.recover(vertex, self._freed)
            if self.fail_fast:
                self._ready.extend(self._barrier.recovered())
        self.refreshes.propagate(vertex, outcome, now)

    def _freed(self, vertex: int) -> None:
        """``vertex`` is not blocked any more: it pays what it owes."""
        if self._owed[vertex]:
            self.order.begin(vertex)

    # ---- another graph ----

    def _forget(self, vertex: int) -> None:
        self._owed[vertex] = 0
        if vertex in self._running:
            self._running[vertex] = 0
        self._start_at.pop(vertex, None)

    def _reorder(self, freed: Collection[int]) -> None:
        """Settle, under the new edges, who of those in motion is blocked, waits, or may start."""
        order, blocked = self.order, self.blocking.blocked
        for vertex in sorted(blocked):
            if order.active[vertex]:
                self._start_at.pop(vertex, None)
                order.end(vertex)
        for vertex in sorted(freed):
            if vertex not in blocked and not order.active[vertex] and vertex not in self._running:
                order.begin(vertex)
        self._barrier.reshape(self.topology)
        self._ready.clear()
        self._ready.extend(v for v in range(self.topology.size) if self._may_start(v))


def _left(outcome: Outcome, carried: int) -> int:
    """Of the causes that a bad run carried, what its vertex still owes; what it did is not done again."""
    if outcome is Outcome.CRITICAL:
        return _REPAIR
    return carried & ~_DONE | _RETRY if outcome is Outcome.UNHEALTHY else carried
