"""Marks vertices at regular times, for resources whose changes cause no event."""

from __future__ import annotations

import heapq
import math
from typing import cast

import trio

from reactor import TimerWatch, TimeSlice, Watch, Watcher, WatchSink

_SPREAD = 0.05
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


class TimerWatcher(Watcher):
    """Marks a vertex every ``interval`` seconds, by the clock of the trio loop.

    The times don't drift. All times that pass while the machine sleeps or is busy cause one mark. The first
    interval is up to 5 % shorter, differently for each vertex, so that thousands are not due at once.
    """

    serves = TimerWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._due: list[tuple[float, int, float]] = []  # a heap: time, vertex, interval
        self._armed: set[tuple[int, float]] = set()
        self._has_new = trio.Event()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a TimerWatch."""
        interval = cast("TimerWatch", watch).interval
        if (vertex, interval) in self._armed:
            return
        self._armed.add((vertex, interval))
        # Multiples of the golden ratio are evenly spread, however many there are.
        first = interval * (1 - _SPREAD * (vertex * _GOLDEN_RATIO % 1))
        heapq.heappush(self._due, (trio.current_time() + first, vertex, interval))
        self._has_new.set()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a TimerWatch; it leaves the heap when it is due."""
        self._armed.discard((vertex, cast("TimerWatch", watch).interval))

    async def run(self) -> None:
        """Mark each vertex when its time has come, until cancelled."""
        while True:
            with trio.move_on_at(self._due[0][0] if self._due else math.inf):
                await self._has_new.wait()
                self._has_new = trio.Event()
            await self._mark_due(trio.current_time())

    def close(self) -> None:
        """Do nothing: there is no descriptor to free."""

    async def _mark_due(self, now: float) -> None:
        time_slice = TimeSlice()
        while self._due and self._due[0][0] <= now:
            due, vertex, interval = self._due[0]
            if (vertex, interval) not in self._armed:
                heapq.heappop(self._due)
                continue
            missed = (now - due) // interval
            heapq.heapreplace(self._due, (due + (missed + 1) * interval, vertex, interval))
            self.sink.mark(vertex)
            if time_slice.used_up():
                await time_slice.yield_to_loop()
