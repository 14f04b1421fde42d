"""Starts checks: takes the marks of watchers and timers, and hands ready vertices to the workers."""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import trio

from reactor.engine.event_recorder import EventRecorder
from reactor.engine.events import Cause
from reactor.engine.prechecks import Prechecks
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable
from reactor.engine.worker_pool import Checks, WorkerPool

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    """The ``struct itimerspec`` of timerfd_settime(2). Python has no interface to it before 3.13."""

    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Wakeup:
    """A timer that ends `wait` at the time that ``due`` returns. Call `set` whenever that time may have become earlier.

    Use it as a context manager. It uses a kernel timer because epoll counts whole milliseconds and trio waits until
    the last of them is over, which is longer than a check of a small file takes. A trio deadline is set too, for
    clocks that jump.
    """

    def __init__(self, due: Callable[[], float]) -> None:
        self._due = due
        self._nap = trio.CancelScope()
        self._wakes_at = math.inf
        self._setting = _Setting()

    def __enter__(self) -> Self:
        self._clock = trio.lowlevel.current_clock()
        self._timer = _libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._timer < 0:
            raise OSError(code := ctypes.get_errno(), os.strerror(code))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._timer)
        self._timer = -1  # a later `set` must not affect another descriptor with that number

    def set(self) -> None:
        """Call ``due`` again, and set the timer earlier if necessary."""
        if (due := self._due()) < self._wakes_at:
            self._wake_at(due)

    async def wait(self) -> None:
        """Return at the time that ``due`` returns."""
        with trio.CancelScope() as self._nap:
            self._wake_at(self._due())
            await trio.lowlevel.wait_readable(self._timer)

    def _wake_at(self, due: float) -> None:
        """Set the timer to ``due``.

        This replaces any earlier setting, so a time that is over does not wake us again.
        """
        self._wakes_at = self._nap.deadline = due
        at_once = 1e-9  # a timer set to 0 never fires
        seconds = 0.0 if due == math.inf else max(self._clock.deadline_to_sleep_time(due), at_once)
        value = self._setting.value
        value.seconds, value.nanoseconds = divmod(int(seconds * 1e9), 1_000_000_000)
        _libc.timerfd_settime(self._timer, 0, ctypes.byref(self._setting), None)


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
        self.pool = WorkerPool(self, scheduler.jobs, slice_seconds)
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
        """Allow one worker for each job, each vertex of a batch (a batch is one job), and each released job."""
        scheduler = self.scheduler
        self.pool.allow(scheduler.jobs + len(scheduler.batches.batch) + len(scheduler.without_job))

    def _on_deadline(self) -> None:
        self.scheduler.elapsed(trio.current_time())
        if self.scheduler.has_ready:
            self.pool.wake()
