"""Starts checks: takes the marks of watchers and timers, and hands ready vertices to the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trio

from reactor.engine.event_recorder import EventRecorder
from reactor.engine.events import Cause
from reactor.engine.prechecks import Prechecks
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable
from reactor.engine.wakeup import Wakeup
from reactor.engine.worker_pool import Checks, WorkerPool


class Dispatcher:
    """The scheduler of a run, its workers, and the timer that wakes it.

    ``on_idle`` is called whenever no vertex is ready: the run may have converged, or be over. ``slice_seconds`` is the
    same as in `WorkerPool`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        vertex_table: VertexTable,
        recorder: EventRecorder,
        prechecks: Prechecks,
        *,
        slice_seconds: float,
        on_idle: Callable[[], None],
    ) -> None:
        self.scheduler = scheduler
        self.vertex_table = vertex_table
        self.recorder = recorder
        self.pool = WorkerPool(self, scheduler.most_at_once, slice_seconds)
        self.wakeup = Wakeup(scheduler.delay_queue.next_time)
        self._timers = scheduler.delay_queue.timers
        self.is_stopping = False
        """Whether no more checks may start, except those of a batch that has begun."""
        self.busy_since: float | None = None
        """The time since which there has been work to do; None since the last convergence."""
        self._prechecks = prechecks
        self._on_idle = on_idle

    def start(self, nursery: trio.Nursery, checks: Checks) -> None:
        """Start the workers. The wake-up must have been entered."""
        nursery.start_soon(self.pool.follow, self.wakeup.wait, self._on_deadline)
        self.pool.start(nursery, checks)

    # ---- marks ----

    def begin(self) -> float:
        """Begin the run: read its clock, and return the time."""
        self.clock = trio.lowlevel.current_clock()
        self.busy_since = now = self.clock.current_time()
        return now

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """Schedule a check of ``vertex`` for ``cause``, ``delay`` seconds from now. Returns at once."""
        if vertex not in self.vertex_table.present:
            return
        now = self.clock.current_time()
        if self.busy_since is None:
            self.busy_since = now
        self.scheduler.mark(vertex, cause, now, delay)
        self.wake()

    def mark_each(self, vertices: Iterable[int], cause: Cause) -> None:
        """As `mark` of each of ``vertices``, which differ; faster for many."""
        present = self.vertex_table.present
        if not (marked := [vertex for vertex in vertices if vertex in present]):
            return
        now = self.clock.current_time()
        if self.busy_since is None:
            self.busy_since = now
        self.scheduler.mark_each(marked, cause, now)
        self.wake()

    def hold(self, vertex: int) -> None:
        """Start no check of ``vertex`` until `release`, and cancel the running one: its watches are not armed."""
        self.scheduler.order.hold(vertex)
        self.pool.cancel(vertex)

    def release(self, vertex: int) -> None:
        """Undo one `hold`."""
        self.scheduler.order.release(vertex)
        self.report_transitions()
        self.wake()

    def pause(self, vertex: int) -> None:
        """Start no further check of ``vertex`` until `unpause`. A running check continues; marks are kept."""
        self.scheduler.pause(vertex)

    def unpause(self, vertex: int) -> None:
        """Undo `pause`: a check that is due starts now."""
        self.scheduler.unpause(vertex)
        self.wake()

    def report_transitions(self, *checked: int) -> None:
        """Report which vertices became blocked or unblocked.

        Schedule the composites of those and of the ``checked`` vertices.
        """
        blocking = self.scheduler.blocking
        crossed = self.recorder.transitions(blocking) if blocking.transitions else ()
        if self._prechecks.has_composites:
            for composite in self._prechecks.affected_composites((*checked, *crossed), blocking.blocked):
                self.mark(composite, Cause.DRIFT)

    # ---- work ----

    def wake(self) -> None:
        """The state of the scheduler has changed: wake a worker if a vertex is ready, and set the timer."""
        if not self.pool.on_its_way and self.scheduler.has_ready:
            self.pool.wake()
        if self._timers:
            self.wakeup.set()

    def next_vertex(self, now: float) -> int | None:
        """The next vertex to check, or None."""
        may_start = not self.is_stopping or self.scheduler.batches.followers
        vertex = self.scheduler.next_ready(now) if may_start else None
        if vertex is None:
            if self._timers:
                self.wakeup.set()
            self._on_idle()
        return vertex

    def suspended(self) -> None:
        """A check is waiting for something: let another worker run if there is work."""
        if self.scheduler.has_ready:
            if self.scheduler.batches.followers:
                self.allow_workers()
            self.pool.wake()

    def release_job(self, vertex: int) -> None:
        """The check of ``vertex`` waits for something that may never happen: let another check use its job."""
        self.scheduler.release_job(vertex)
        self.allow_workers()
        if self.scheduler.has_ready:
            self.pool.wake()

    def allow_workers(self) -> None:
        """Allow as many workers as vertices may run now."""
        self.pool.allow(self.scheduler.most_at_once)

    def _on_deadline(self) -> None:
        self.scheduler.elapsed(trio.current_time())
        if self.scheduler.has_ready:
            self.pool.wake()
