"""The scheduler decides which vertex runs next. It is a state machine without I/O or clock.

It is informed by `mark`, `finished`, `elapsed`, `reshape` and ``order.hold``; `next_ready` returns the next vertex, and
`delay_queue` knows when to call `elapsed`. A vertex is active while it is dirty or runs. Its promises, each an invariant in
``tests/engine/test_scheduler_promises.py``:

1. Order: a vertex never starts while any ancestor is active (`order`).
2. One at a time: a vertex never runs twice at once.
3. No event is lost: a mark during a run leads to one more run; if the run fails, that is its retry.
4. No refresh is lost: it is pending until a run with it has succeeded, also over `reshape` and in `debouncer` (`refreshes`).
5. Failure is local: it blocks strong descendants and the rest of an order that it ends, until it recovers (`blocking`).
6. It ends: without outside events, no vertex stays active.
7. Work is local: what is not below a marked vertex is not touched.
8. Limits delay, never drop.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping

from reactor.engine.admission import Admission
from reactor.engine.blocking import Blocking, FailFast
from reactor.engine.delay_queue import DelayQueue
from reactor.engine.events import CAUSE_SETS, Cause
from reactor.engine.limits import UNLIMITED, Limits
from reactor.engine.outcome import Outcome
from reactor.engine.readiness import Readiness, ReadyQueue
from reactor.engine.refreshes import RefreshDebouncer, Refreshes
from reactor.engine.retries import Retries, causes_left
from reactor.engine.scheduler_batches import SchedulerBatches
from reactor.graph.topology import Topology

_Vertices = Collection[int]
_CANCELLED = Outcome.CANCELLED  # see its class
_UNWELL = (Outcome.UNHEALTHY, Outcome.CRITICAL)
_BAD = (Outcome.FAILED, *_UNWELL)
_DRIFT = int(Cause.DRIFT)
_CHECK_ONLY = int(Cause.DRIFT | Cause.AUDIT)
_REFRESH = int(Cause.REFRESH)


class Scheduler(SchedulerBatches):
    """The state of every vertex of one graph.

    ``jobs`` limits how many run at once that need a job, and how many more that need none. ``needs_job`` has a byte for each
    vertex; by default all do, and one with a group must. ``default_retry`` is for vertices whose limits set none. With ``fail_fast``,
    only failed vertices and their ancestors start while `blocking` has a root failure. Times are on a steady clock.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        jobs: int,
        default_retry: int = UNLIMITED,
        fail_fast: bool = False,
        limits: Mapping[int, Limits] | None = None,
        needs_job: bytearray | None = None,
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
        """The jobs in use: one for each vertex that runs alone, and one for each batch."""
        self._retries = Retries(default_retry, rng or random.Random())  # noqa: S311 - jitter needs no secrecy
        self.delay_queue = DelayQueue(self._retries)
        self._start_at, self._slowed = self.delay_queue.start_at, self.delay_queue.slowed
        self._admission = Admission(limits or {}, self.delay_queue)
        self.batches, self._semaphore_holders = self._admission.batches, self._admission.semaphores.held
        self.refreshes = Refreshes(topology, self._admission, self.debouncer, self.mark)
        self._due_causes = bytearray(topology.size)
        self.without_job: set[int] = set()
        """Running vertices that have released their jobs, or need none."""
        self.running_causes: dict[int, int] = {}
        """Why each running vertex runs, as the bits of a `Cause`."""
        self.running: Collection[int] = self.running_causes.keys()
        self._gone: set[int] = set()
        self._paused: set[int] = set()
        self._needs_job = bytearray(b"\1" * topology.size) if needs_job is None else needs_job
        self._ready = ReadyQueue(self._needs_job)

    # ---- what happened ----

    def mark(self, vertex: int, cause: Cause, now: float, delay: float = 0.0) -> None:
        """Something may have changed ``vertex``: a check is due, which starts ``delay`` seconds from now."""
        # The operator of IntFlag takes ten times as long.
        self._due_causes[vertex] = int.__or__(self._due_causes[vertex], cause)
        if vertex in self.running_causes:
            return
        if vertex in self.blocking.failed and cause is not Cause.RETRY:
            self._retries.reset_attempts(vertex)
        if vertex in self.blocking.blocked:
            return
        start = now + delay
        if vertex in self._slowed or vertex in self.blocking.failed:
            start = self.delay_queue.earliest(vertex, start, failed=vertex in self.blocking.failed)
        if not self.order.active[vertex]:
            if vertex in self._slowed and self._rests(vertex, now):
                return
            self.order.begin(vertex)
        elif self._start_at.get(vertex, now) <= start:
            self._hasten(vertex, cause)
            return
        self._schedule(vertex, start, now)
        self._hasten(vertex, cause)

    def pause(self, vertex: int) -> None:
        """Do not start ``vertex`` until `unpause`. Its descendants wait only once a check of it is due."""
        self._paused.add(vertex)

    def unpause(self, vertex: int) -> None:
        """Undo `pause`."""
        self._paused.discard(vertex)
        if self._may_start(vertex):
            self._ready.append(vertex)

    def next_ready(self, now: float) -> int | None:
        """Start the next vertex that may start, and return it; None if there is none."""
        if self.batches.followers:
            return self.batches.followers.popleft()
        while (vertex := self._take()) is not None:
            if self.order.active[vertex] and self._start(vertex, now):
                self.active += 1
                if vertex in self.batches.of:
                    others = self.batches.others_of(vertex)
                    self.batches.lead(vertex, [each for each in others if self._start(each, now)])
                elif not self._needs_job[vertex] and self._has_room_without_job:
                    self.without_job.add(vertex)
                return vertex
        return None

    def _take(self) -> int | None:
        """The next ready vertex; None if there is none, or no room for it."""
        if self._has_room:
            return self._ready.take()
        return self._ready.take_without_job() if self._has_room_without_job else None

    def release_job(self, vertex: int) -> None:
        """The run of ``vertex`` no longer uses a job."""
        if vertex not in self.batches.batch:
            self.without_job.add(vertex)

    def finished(self, vertex: int, outcome: Outcome, now: float) -> float | None:
        """The run of ``vertex`` ended. Return the seconds until its retry, or None if it is not retried."""
        carried = self.running_causes.pop(vertex)
        self.without_job.discard(vertex)
        job_ended = True
        if vertex in self.batches.batch or vertex in self._semaphore_holders:
            job_ended, woken = self._admission.leave(vertex)
            self._ready.extend(woken)
        self.active -= job_ended
        if vertex in self._gone:
            self.order.end(vertex)
            return None
        again, wait = self._due_causes[vertex], None
        if outcome in _BAD:
            self._due_causes[vertex] |= causes_left(outcome, carried)
            fresh = again & ~_DRIFT
            wait = self._fail(vertex, now, fresh=bool(fresh), echoed=again != fresh)
            if not self._retries.is_first(vertex):
                again = fresh  # the failed run itself may cause drift events, for ever; the retry covers them
            if outcome in _UNWELL:
                self.refreshes.propagate(vertex, Outcome.OK, now)
        elif outcome is _CANCELLED:
            self._due_causes[vertex] |= carried
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
        """The time is now ``now``: start the vertices that waited until then, including retries."""
        for vertex, cause in self.delay_queue.due(now):
            if cause is not None:
                self.mark(vertex, cause, now)
            elif not self.order.waiting[vertex]:
                self._ready.append(vertex)

    def reshape(
        self, topology: Topology, limits: Mapping[int, Limits], changed: _Vertices, gone: _Vertices
    ) -> None:
        """Switch to another graph. Vertices keep their numbers; there may be more of them.

        ``changed`` vertices forget their failures but keep their due causes. ``gone`` vertices left the graph: their
        running checks end without effect, unless they come back first. Mark new and changed vertices afterwards.
        """
        self.topology = topology
        self._admission.reshape(limits)
        self._due_causes += bytes(topology.size - len(self._due_causes))
        self._needs_job.extend(b"\1" * (topology.size - len(self._needs_job)))
        untold = self.refreshes.reshape(topology, gone)
        for vertex in untold:
            self._due_causes[vertex] |= _REFRESH
            if vertex in self.blocking.failed:
                self._retries.reset_attempts(vertex)
        self._gone = (self._gone & self.running_causes.keys() | set(gone)).difference(changed)
        failed = self.blocking.failed - set(changed) - self._gone
        freed = {v for v in (*self.blocking.blocked, *changed, *untold) if self._due_causes[v]} - self._gone
        for vertex in (*changed, *gone):
            self._retries.forget(vertex)
            self.delay_queue.forget(vertex)
            self.debouncer.forget(vertex)
        for vertex in gone:
            self._due_causes[vertex] = 0
            if vertex in self.running_causes:
                self.running_causes[vertex] = 0
            self._start_at.pop(vertex, None)
        self.order.reshape(topology.successors, self._gone - self.running_causes.keys())
        runs = bytearray(topology.size)
        for vertex in self.running_causes:
            runs[vertex] = 1
        self.blocking.reshape(topology, sorted(failed), moves=runs)
        self._reorder(freed)

    @property
    def has_ready(self) -> bool:
        """Whether `next_ready` may return a vertex."""
        if self.batches.followers:
            return True
        return (
            bool(self._ready) if self._has_room else self._ready.may_overtake and self._has_room_without_job
        )

    @property
    def _has_room(self) -> bool:
        return self.active - len(self.without_job) < self.jobs

    @property
    def _has_room_without_job(self) -> bool:
        """Whether a vertex that needs no job may start without one. With a single job, all go one after the other."""
        return len(self.without_job) < self.jobs > 1

    def causes(self, vertex: int) -> Cause:
        """Why ``vertex`` runs, or why a check of it is due."""
        return CAUSE_SETS[self.running_causes.get(vertex, self._due_causes[vertex])]

    def _hasten(self, vertex: int, cause: Cause) -> None:
        """Let a vertex that drifted go before those of a pass over many, which may wait for long."""
        if int.__and__(cause, _DRIFT) and not self._has_room:
            self._ready.hasten(vertex)

    def _may_start(self, vertex: int) -> bool:
        return (
            bool(self.order.active[vertex])
            and not self.order.waiting[vertex]
            and vertex not in self.running_causes
            and vertex not in self._start_at
            and vertex not in self._paused
        )

    def _start(self, vertex: int, now: float) -> bool:
        """Start ``vertex``, unless something prevents it; this makes ``vertex`` ready again when it is over."""
        if not self._may_start(vertex):
            return False
        if self.fail_fast and self._barrier.holds_back(vertex):
            return False
        if vertex in self._slowed:
            start = self.delay_queue.earliest(vertex, now, failed=False)
            if start > now:  # it was blocked, or has been throttled, since `mark` computed its start
                self._schedule(vertex, start, now)
                return False
        due, later = self._due_causes[vertex], 0
        if vertex in self._admission.limits or self.debouncer.pending:
            later = self.debouncer.deferred_causes(vertex, due, now) if self.debouncer.pending else 0
            if due == later:
                self._schedule(vertex, self.debouncer.due(vertex) or now, now)
                return False
            if not self._admission.admits(vertex, now):
                return False
            if (due ^ later) & _REFRESH:
                self.debouncer.forget(vertex)
        self.running_causes[vertex] = due ^ later
        self._due_causes[vertex] = later
        if vertex in self._retries.due:
            self._retries.began(vertex)
        return True

    def _rests(self, vertex: int, now: float) -> bool:
        """Whether ``vertex`` must wait because it flaps and nothing but another repair of it is due."""
        return not self._due_causes[vertex] & ~_CHECK_ONLY and self.delay_queue.rests(vertex, now)

    def _schedule(self, vertex: int, start: float, now: float) -> None:
        if start > now:
            self.delay_queue.delay_until(vertex, start)
            return
        self._start_at.pop(vertex, None)
        if not self.order.waiting[vertex]:
            self._ready.append(vertex)

    def _cleared(self, vertex: int) -> bool:
        """All predecessors of ``vertex`` have settled. Return whether it is blocked."""
        if vertex in self.running_causes:
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
        """``vertex`` is no longer blocked: make it active if a check is due."""
        if self._due_causes[vertex]:
            self.order.begin(vertex)

    def _reorder(self, freed: Collection[int]) -> None:
        """With the new edges, determine which active vertices are blocked, wait, or may start."""
        order, blocked = self.order, self.blocking.blocked
        for vertex in sorted(blocked):
            if order.active[vertex]:
                self._start_at.pop(vertex, None)
                order.end(vertex)
        for vertex in sorted(freed):
            if vertex not in blocked and not order.active[vertex] and vertex not in self.running_causes:
                order.begin(vertex)
        self._barrier.reshape(self.topology)
        self._ready.clear()
        self._ready.extend(filter(self._may_start, order.active_vertices()))
