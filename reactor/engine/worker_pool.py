"""The tasks that run checks: they take vertices from the dispatcher, one after the other."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Protocol

import trio

from reactor.engine.event_recorder import EventRecorder
from reactor.engine.scheduler import Scheduler
from reactor.resource.output import noter, output_sink
from reactor.resource.threads import waiter

SLICE = 0.0005
"""Seconds of uninterrupted work after which a worker lets trio read the event descriptors."""
UNWATCHED_SLICE = 0.01
"""The same in a run without watches, where only signals, commands and the progress bar wait."""


class WorkQueue(Protocol):
    """Where the workers get vertices: the dispatcher."""

    scheduler: Scheduler
    recorder: EventRecorder

    def next_vertex(self, now: float) -> int | None:
        """The next vertex to check, or None."""

    def suspended(self) -> None:
        """A check is waiting for something: let another worker run if there is work."""

    def release_job(self, vertex: int) -> None:
        """The check of ``vertex`` waits for something that may never happen: let another check use its job."""


class Checks(Protocol):
    """What the workers do with a vertex."""

    def end_group(self, started: float) -> float | None:
        """End the checks of the next group at once, if all are as desired. Return the time, or None."""

    async def check(self, vertex: int, started: float) -> float:
        """Check ``vertex`` and complete the check. Return the time it ended."""

    def cancelled(self, vertex: int, started: float) -> None:
        """The check of ``vertex``, which began at ``started``, was cancelled."""


class WorkerPool:
    """At most ``most`` tasks, started when they are needed. They park when there is nothing to do.

    A check that never suspends (of a small file) costs no task switch: its worker continues with the next vertex. When
    a check suspends (for a command), another worker is woken. Each works for ``slice_seconds`` before other tasks get
    a turn.
    """

    def __init__(self, work_queue: WorkQueue, most: int, slice_seconds: float) -> None:
        self._work_queue = work_queue
        self._scheduler = work_queue.scheduler
        self._groups = work_queue.scheduler.batches.of
        self._most = most
        self._slice = slice_seconds
        self._count = 0
        self._parked = trio.lowlevel.ParkingLot()
        self.on_its_way = False
        """Whether a task will look for a ready vertex anyway."""
        self._is_closed = False
        self._checking: dict[int, trio.CancelScope] = {}

    def start(self, nursery: trio.Nursery, checks: Checks) -> None:
        """Begin to take vertices; ``checks`` checks them."""
        self._nursery = nursery
        self._checks = checks
        self._clock = trio.lowlevel.current_clock()
        self.wake()

    def allow(self, most: int) -> None:
        """Allow up to ``most`` tasks. Never stops running tasks: the scheduler limits how many checks run at once."""
        self._most = max(most, self._count)

    def close(self) -> None:
        """Start no more tasks: the run is over, but its services still mark vertices while they end."""
        self._is_closed = True

    def wake(self) -> None:
        """Let one more worker look for a ready vertex.

        Does nothing if one was woken already: that one wakes the next.
        """
        if self.on_its_way or self._is_closed:
            return
        if self._parked:
            self.on_its_way = True
            self._parked.unpark()
        elif self._count < self._most:
            self.on_its_way = True
            self._count += 1
            self._nursery.start_soon(self._worker)

    def cancel(self, vertex: int) -> None:
        """Cancel the check of ``vertex``, if one runs."""
        if (scope := self._checking.get(vertex)) is not None:
            scope.cancel()

    def is_checking(self, vertex: int) -> bool:
        """Whether a check of ``vertex`` runs now."""
        return vertex in self._checking

    def checking(self) -> list[int]:
        """The vertices whose checks run now."""
        return sorted(self._checking)

    async def follow(self, wait: Callable[[], Awaitable[None]], handle: Callable[[], None]) -> None:
        """Await ``wait`` and call ``handle`` in a loop, and check the vertices that ``handle`` marks in the same task.

        Waking a worker for them would take half as long as the repair of a small file. When a check has to wait for
        something, another task takes over here (the leader/followers pattern). Raises what ``wait`` and ``handle``
        raise; running checks then continue.
        """
        followed = _FollowedSource(wait, handle)
        self._nursery.start_soon(self._lead, followed)
        try:
            await followed.broken.wait()
        finally:
            followed.close()
        if followed.error is not None:
            raise followed.error

    async def _worker(self) -> None:
        output_context = _OutputContext(self._work_queue)
        while True:
            # Cancelling this scope cancels the running check; the worker itself continues.
            with trio.CancelScope() as scope:
                while True:
                    if await self._check_all(scope, output_context, self._work_queue.suspended):
                        await trio.lowlevel.checkpoint()
                    else:
                        await self._parked.park()

    async def _lead(self, followed: _FollowedSource) -> None:
        """Wait for the source and check the vertices it marks, until another task has taken over."""
        output_context = _OutputContext(self._work_queue)

        def suspended() -> None:
            if followed.is_led_by(output_context):
                followed.leader = None
                self._nursery.start_soon(self._lead, followed)
            self._work_queue.suspended()

        followed.leader = output_context
        while followed.is_led_by(output_context):
            with trio.CancelScope() as scope:
                while followed.is_led_by(output_context) and await self._next_event(followed, scope):
                    if self._scheduler.has_ready and await self._check_all(scope, output_context, suspended):
                        self.wake()
            if self._scheduler.has_ready:  # a cancelled check is due again, and this task may no longer lead
                self.wake()

    async def _next_event(self, followed: _FollowedSource, scope: trio.CancelScope) -> bool:
        """Wait for an event and handle it. Return whether the source still works.

        The caller checks the marked vertices.
        """
        followed.listening = scope
        try:
            await followed.wait()
            self.on_its_way = True
            followed.handle()
        except Exception as error:  # noqa: BLE001 - `follow` raises it
            followed.fail(error)
            return False
        finally:
            followed.listening = None
            self.on_its_way = False
        return True

    async def _check_all(
        self, scope: trio.CancelScope, output_context: _OutputContext, suspended: Callable[[], None]
    ) -> bool:
        """Check until there is nothing to do; return True if the time slice was used up first."""
        now = self._clock.current_time()
        slice_end = now + self._slice
        while now <= slice_end:
            self.on_its_way = False
            if self._groups and (ended := self._checks.end_group(now)) is not None:
                now = ended
                continue
            vertex = self._work_queue.next_vertex(now)
            if vertex is None:
                return False
            self._checking[vertex] = scope
            output_context.vertex = vertex
            ended = None
            check = self._checks.check(vertex, now)
            try:
                try:
                    trap = check.send(None)
                except StopIteration as end:  # the check ended without waiting
                    now = ended = end.value
                else:
                    suspended()
                    now = ended = await _continued(check, trap)
            finally:
                del self._checking[vertex]
                if ended is None:
                    self._checks.cancelled(vertex, now)
        return True


@types.coroutine
def _continued(check: Coroutine[Any, Any, float], trap: Any) -> Generator[Any, Any, float]:
    """Await the rest of ``check``, which is suspended in ``trap``."""
    try:
        while True:
            try:
                answer = yield trap
            except BaseException as error:  # noqa: BLE001 - every exception thrown in belongs to the check
                trap = check.throw(error)
            else:
                trap = check.send(answer)
    except StopIteration as end:
        return float(end.value)


class _OutputContext:
    """Assigns the output and the waits of a task to the check that runs in it."""

    def __init__(self, work_queue: WorkQueue) -> None:
        self._work_queue = work_queue
        self._recorder = work_queue.recorder
        self.vertex = -1
        output_sink.set(self._on_output)
        noter.set(self._on_note)
        waiter.set(self._on_wait)

    def _on_output(self, line: str) -> None:
        self._recorder.output(self.vertex, line)

    def _on_note(self, line: str) -> None:
        self._recorder.noted(self.vertex, line)

    def _on_wait(self) -> None:
        self._work_queue.release_job(self.vertex)


class _FollowedSource:
    """A source of events. ``leader`` is the output context of the task that waits for it: at most one task does."""

    def __init__(self, wait: Callable[[], Awaitable[None]], handle: Callable[[], None]) -> None:
        self.wait = wait
        self.handle = handle
        self.leader: _OutputContext | None = None
        self.listening: trio.CancelScope | None = None
        """Cancel scope of the wait in progress."""
        self.closed = False
        self.broken = trio.Event()
        self.error: Exception | None = None

    def is_led_by(self, output_context: _OutputContext) -> bool:
        """Whether the task of ``output_context`` must wait for the source."""
        return self.leader is output_context and not self.closed

    def close(self) -> None:
        """Stop listening. A check that runs in the listening task continues."""
        self.closed = True
        if self.listening is not None:
            self.listening.cancel()

    def fail(self, error: Exception) -> None:
        """The source failed with ``error``: stop listening."""
        self.closed = True
        self.error = error
        self.broken.set()
