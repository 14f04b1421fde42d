"""Starts checks: takes the marks of watchers and timers, and gives the vertices that are ready to the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from reactor.engine.event_recorder import EventRecorder
from reactor.engine.events import Cause
from reactor.engine.prechecks import Prechecks
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable
from reactor.engine.wakeup import Wakeup
from reactor.engine.worker_pool import WorkerPool

if TYPE_CHECKING:
    from reactor.engine.vertex_checks import VertexChecks


class Dispatcher:
    """The scheduler of a run, its workers, and the timer that wakes it.

    ``on_idle`` is called whenever no vertex is ready: the run may have converged, or be over. ``slice_seconds`` is as in
    `WorkerPool`.
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
        self.pool = WorkerPool(self, scheduler.jobs, slice_seconds)
        self.wakeup = Wakeup(scheduler.delay_queue.next_time)
        self.is_stopping = False
        """Whether no further check may start, but those of a batch that has begun."""
        self.busy_since: float | None = None
        """Since when something has had to be done; None since the last convergence."""
        self._prechecks = prechecks
        self._on_idle = on_idle

    def start(self, nursery: trio.Nursery, checks: VertexChecks) -> None:
        """Let the workers begin. The wake-up must have been entered."""
        nursery.start_soon(self.pool.follow, self.wakeup.wait, self._on_deadline)
        self.pool.start(nursery, checks)

    # ---- marks ----

    def begin(self) -> float:
        """The run begins: read its clock. Returns the time."""
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

    def hold(self, vertex: int) -> None:
        """Start no check of ``vertex`` until `release`, and cancel the one that runs: its watches are not armed."""
        self.scheduler.hold(vertex)
        self.pool.cancel(vertex)

    def release(self, vertex: int) -> None:
        """Take a `hold` back."""
        self.scheduler.release(vertex)
        self.report_transitions()
        self.wake()

    def pause(self, vertex: int) -> None:
        """Start no further check of ``vertex`` until `unpause`. One that runs goes on; marks are kept."""
        self.scheduler.pause(vertex)

    def unpause(self, vertex: int) -> None:
        """Take a `pause` back: a check that is due starts now."""
        self.scheduler.unpause(vertex)
        self.wake()

    def report_transitions(self, *checked: int) -> None:
        """Report which vertices became blocked or free; schedule the composites of those and of the ``checked`` ones."""
        blocking = self.scheduler.blocking
        crossed = self.recorder.transitions(blocking) if blocking.transitions else ()
        if self._prechecks.has_composites:
            for composite in self._prechecks.affected_composites((*checked, *crossed), blocking.blocked):
                self.mark(composite, Cause.DRIFT)

    # ---- work ----

    def wake(self) -> None:
        """The scheduler has changed: wake a worker if a vertex is ready, and set the timer."""
        if self.scheduler.has_ready:
            self.pool.wake()
        self.wakeup.set()

    def next_vertex(self, now: float) -> int | None:
        """The next vertex to check; None when there is none."""
        may_start = not self.is_stopping or self.scheduler.batches.followers
        vertex = self.scheduler.next_ready(now) if may_start else None
        if vertex is None:
            self.wakeup.set()
            self._on_idle()
        return vertex

    def suspended(self) -> None:
        """A check waits for something: let another worker go on, if there is work."""
        if self.scheduler.has_ready:
            if self.scheduler.batches.followers:
                self.allow_workers()
            self.pool.wake()

    def release_job(self, vertex: int) -> None:
        """The check of ``vertex`` waits for something that may never come: another check may take its job."""
        self.scheduler.release_job(vertex)
        self.allow_workers()
        if self.scheduler.has_ready:
            self.pool.wake()

    def allow_workers(self) -> None:
        """One worker for each job, one for each vertex of a batch, which is one job, and one for each released job."""
        scheduler = self.scheduler
        self.pool.allow(scheduler.jobs + len(scheduler.batches.batch) + len(scheduler.without_job))

    def _on_deadline(self) -> None:
        self.scheduler.elapsed(trio.current_time())
        if self.scheduler.has_ready:
            self.pool.wake()
