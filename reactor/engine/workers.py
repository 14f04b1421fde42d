"""The tasks that run checks, and the one that keeps time. They know when to look for work, not what it is."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol

import trio

from reactor.resource.speech import speaker

SLICE = 0.0005
"""Seconds of uninterrupted work after which a worker lets the event descriptors be read."""
UNWATCHED_SLICE = 0.01
"""The same in a run that hears no events: only signals, commands and the progress bar wait for their turn."""


class Desk(Protocol):
    """Where workers get their work. Times are of trio's clock, and handed around so that it is asked once per check."""

    def take(self, now: float) -> int | None:
        """The next vertex to check; None when there is none."""

    def suspended(self) -> None:
        """A check waits for something: its worker can't go on with the next."""


class Work(Protocol):
    """What workers do."""

    async def check(self, vertex: int, started: float) -> float:
        """Check a vertex; return the time it ended."""

    def void(self, vertex: int) -> None:
        """The check of a vertex was cancelled on its own."""

    def say(self, vertex: int, line: str) -> None:
        """The check of a vertex said a line."""


class Workers:
    """At most ``most`` tasks, started when they are needed. They park when there is nothing to do.

    A check that never suspends (a small file) costs no task switch: its worker goes on with the next. When one does
    (a command), another worker is woken. Each works for ``slice_seconds`` before it lets others have a turn.
    """

    def __init__(self, desk: Desk, work: Work, most: int, slice_seconds: float) -> None:
        self._desk = desk
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

    async def _worker(self) -> None:
        voice = _Voice(self._work)
        speaker.set(voice.say)
        while True:
            # Cancelling this scope voids the check that runs; the worker itself lives on.
            with trio.CancelScope() as scope:
                await self._go_on(scope, voice)

    async def _go_on(self, scope: trio.CancelScope, voice: _Voice) -> None:
        now = trio.current_time()
        slice_end = now + self._slice
        while True:
            self._on_its_way = False
            vertex = self._desk.take(now)
            if vertex is None:
                await self._parked.park()
            else:
                self._checking[vertex] = scope
                voice.vertex = vertex
                now = await self._check(vertex, now)
                if now <= slice_end:
                    continue
                await trio.lowlevel.checkpoint()
            now = trio.current_time()
            slice_end = now + self._slice

    async def _check(self, vertex: int, now: float) -> float:
        ended = None
        try:
            ended = await _noticing(self._work.check(vertex, now), self._desk.suspended)
        finally:
            del self._checking[vertex]
            if ended is None:
                self._work.void(vertex)
        return ended


@types.coroutine
def _noticing(check: Coroutine[Any, Any, float], suspended: Callable[[], None]) -> Generator[Any, Any, float]:
    """Await ``check``, and call ``suspended`` if it does not end in one go: then others can be checked meanwhile."""
    try:
        trap = check.send(None)
        suspended()
        while True:
            try:
                answer = yield trap
            except BaseException as error:  # noqa: BLE001 - everything thrown at us is for the check
                trap = check.throw(error)
            else:
                trap = check.send(answer)
    except StopIteration as end:
        return float(end.value)


class _Voice:
    """Lends its worker's voice to the check that runs."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.vertex = -1

    def say(self, line: str) -> None:
        self._work.say(self.vertex, line)


class Alarm:
    """Calls ``ring`` at the time that ``due`` names. `set` it whenever that time may have come nearer."""

    def __init__(self, due: Callable[[], float], ring: Callable[[], None]) -> None:
        self._due = due
        self._ring = ring
        self._nap = trio.CancelScope()

    def set(self) -> None:
        """Look again when to ring."""
        if (due := self._due()) < self._nap.deadline:
            self._nap.deadline = due

    async def run(self) -> None:
        """Ring until cancelled."""
        while True:
            with trio.CancelScope(deadline=self._due()) as self._nap:
                await trio.sleep_forever()
            self._ring()
