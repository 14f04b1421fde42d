"""The tasks that run checks. They know when to look for work, not what it is."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Protocol

import trio

from reactor.resource.output import noter, speaker
from reactor.resource.waiting import waiter

SLICE = 0.0005
"""Seconds of uninterrupted work after which a worker lets the event descriptors be read."""
UNWATCHED_SLICE = 0.01
"""The same in a run that hears no events: only signals, commands and the progress bar wait for their turn."""


class WorkQueue(Protocol):
    """Where workers get their work. Times are of trio's clock, and handed around so that it is asked once per check."""

    @property
    def has_work(self) -> bool:
        """Whether `take` is worth asking: most of what is heard where many files are is about none of ours."""

    def take(self, now: float) -> int | None:
        """The next vertex to check; None when there is none."""

    def suspended(self) -> None:
        """A check waits for something: its worker can't go on with the next."""


class Job(Protocol):
    """What workers do."""

    def check(self, vertex: int, started: float) -> Coroutine[Any, Any, float]:
        """Check a vertex; return the time it ended."""

    def void(self, vertex: int) -> None:
        """The check of a vertex was cancelled on its own."""

    def say(self, vertex: int, line: str) -> None:
        """The check of a vertex said a line."""

    def note(self, vertex: int, line: str) -> None:
        """The check of a vertex said something of it that is kept."""

    def lend(self, vertex: int) -> None:
        """The check of a vertex waits for something that may never come."""


class WorkerPool:
    """At most ``most`` tasks, started when they are needed. They park when there is nothing to do.

    A check that never suspends (a small file) costs no task switch: its worker goes on with the next. When one does
    (a command), another worker is woken. Each works for ``slice_seconds`` before it lets others have a turn.
    """

    def __init__(self, queue: WorkQueue, work: Job, most: int, slice_seconds: float) -> None:
        self._queue = queue
        self._work = work
        self._most = most
        self._slice = slice_seconds
        self._count = 0
        self._parked = trio.lowlevel.ParkingLot()
        self._on_its_way = False
        self._checking: dict[int, trio.CancelScope] = {}

    def start(self, nursery: trio.Nursery) -> None:
        """Begin to look for work."""
        self._nursery = nursery
        self._clock = trio.lowlevel.current_clock()
        self.wake()

    def allow(self, most: int) -> None:
        """Have up to so many tasks. Those there are stay: whoever hands out work bounds what runs at once."""
        self._most = max(most, self._count)

    def wake(self) -> None:
        """Have one more worker look for work; one that is on its way is enough, it wakes the next."""
        if self._on_its_way:
            return
        if self._parked:
            self._on_its_way = True
            self._parked.unpark()
        elif self._count < self._most:
            self._on_its_way = True
            self._count += 1
            self._nursery.start_soon(self._worker)

    def cancel(self, vertex: int) -> None:
        """Void the check of ``vertex``, if one runs."""
        if (scope := self._checking.get(vertex)) is not None:
            scope.cancel()

    def checking(self) -> list[int]:
        """The vertices whose checks run now."""
        return sorted(self._checking)

    async def follow(self, wait: Callable[[], Awaitable[None]], hear: Callable[[], None]) -> None:
        """Await ``wait`` and call ``hear``, for ever; and check what it marks in the same task.

        Waking a worker for that takes as long as half the repair of a small file. When a check has to wait for
        something, another task goes on here: leader and followers, as that is called. Raises what ``wait`` and
        ``hear`` raise; checks that run then go on.
        """
        followed = _FollowedSource(wait, hear)
        self._nursery.start_soon(self._lead, followed)
        try:
            await followed.broken.wait()
        finally:
            followed.close()
        if followed.error is not None:
            raise followed.error

    async def _worker(self) -> None:
        output_context = _OutputContext(self._work)
        while True:
            # Cancelling this scope voids the check that runs; the worker itself lives on.
            with trio.CancelScope() as scope:
                while True:
                    if await self._check_all(scope, output_context, self._queue.suspended):
                        await trio.lowlevel.checkpoint()
                    else:
                        await self._parked.park()

    async def _lead(self, followed: _FollowedSource) -> None:
        """Listen, and check what is heard of, until another task has taken over."""
        output_context = _OutputContext(self._work)

        def suspended() -> None:
            if followed.is_led_by(output_context):
                followed.leader = None
                self._nursery.start_soon(self._lead, followed)
            self._queue.suspended()

        followed.leader = output_context
        while followed.is_led_by(output_context):
            with trio.CancelScope() as scope:
                while followed.is_led_by(output_context) and await self._hears(followed, scope):
                    if self._queue.has_work and await self._check_all(scope, output_context, suspended):
                        self.wake()
            if self._queue.has_work:  # a check that was voided is owed, and this task may lead no more
                self.wake()

    async def _hears(self, followed: _FollowedSource, scope: trio.CancelScope) -> bool:
        """Whether ``followed`` has heard something, after a wait for it. What was marked is left to the caller."""
        followed.listening = scope
        try:
            await followed.wait()
            self._on_its_way = True
            followed.hear()
        except Exception as error:  # noqa: BLE001 - it is for who follows
            followed.fail(error)
            return False
        finally:
            followed.listening = None
            self._on_its_way = False
        return True

    async def _check_all(
        self, scope: trio.CancelScope, output_context: _OutputContext, suspended: Callable[[], None]
    ) -> bool:
        """Check until there is nothing to do, or the slice is used up: then it returns True."""
        now = self._clock.current_time()
        slice_end = now + self._slice
        while now <= slice_end:
            self._on_its_way = False
            vertex = self._queue.take(now)
            if vertex is None:
                return False
            self._checking[vertex] = scope
            output_context.vertex = vertex
            ended = None
            check = self._work.check(vertex, now)
            try:
                try:
                    trap = check.send(None)
                except StopIteration as end:  # it waited for nothing
                    now = ended = end.value
                else:
                    suspended()
                    now = ended = await _continued(check, trap)
            finally:
                del self._checking[vertex]
                if ended is None:
                    self._work.void(vertex)
        return True


@types.coroutine
def _continued(check: Coroutine[Any, Any, float], trap: Any) -> Generator[Any, Any, float]:
    """Await the rest of ``check``, which waits in ``trap``."""
    try:
        while True:
            try:
                answer = yield trap
            except BaseException as error:  # noqa: BLE001 - everything thrown at us is for the check
                trap = check.throw(error)
            else:
                trap = check.send(answer)
    except StopIteration as end:
        return float(end.value)


class _OutputContext:
    """Lends the voice of the task that makes it to the check that runs there."""

    def __init__(self, work: Job) -> None:
        self._work = work
        self.vertex = -1
        speaker.set(self._say)
        noter.set(self._note)
        waiter.set(self._lend)

    def _say(self, line: str) -> None:
        self._work.say(self.vertex, line)

    def _note(self, line: str) -> None:
        self._work.note(self.vertex, line)

    def _lend(self) -> None:
        self._work.lend(self.vertex)


class _FollowedSource:
    """Where something is heard: ``leader`` is who listens there now, one task at a time."""

    def __init__(self, wait: Callable[[], Awaitable[None]], hear: Callable[[], None]) -> None:
        self.wait = wait
        self.hear = hear
        self.leader: _OutputContext | None = None
        self.listening: trio.CancelScope | None = None
        """Of the wait that lasts; cancelling it ends that."""
        self.closed = False
        self.broken = trio.Event()
        self.error: Exception | None = None

    def is_led_by(self, output_context: _OutputContext) -> bool:
        """Whether it is for the task with that voice to listen."""
        return self.leader is output_context and not self.closed

    def close(self) -> None:
        """Listen no more. A check in the task that did goes on."""
        self.closed = True
        if self.listening is not None:
            self.listening.cancel()

    def fail(self, error: Exception) -> None:
        """Nothing can be heard any more, for ``error``."""
        self.closed = True
        self.error = error
        self.broken.set()
