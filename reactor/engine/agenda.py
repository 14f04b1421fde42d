"""What waits for a time: starts that are put off, and attempts that follow a failure. Part of the scheduler: no clock."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reactor.engine.retries import Retries


class Agenda:
    """When vertices may start. Times are those of the scheduler; ``retries`` has those of the vertices that failed."""

    def __init__(self, retries: Retries) -> None:
        self.start_at: dict[int, float] = {}
        """When each vertex that waits only for a time starts."""
        self._not_before: dict[int, float] = {}
        self._retries = retries
        self._timers: list[tuple[float, int]] = []

    def earliest(self, vertex: int, start: float, *, failed: bool) -> float:
        """When ``vertex`` may start that is to at ``start``: a rate limits every start, a pause those after a failure."""
        if vertex in self._not_before:
            start = max(start, self._not_before[vertex])
        return max(start, self._retries.earliest(vertex)) if failed else start

    def put_off(self, vertex: int, start: float) -> None:
        """``vertex`` starts at ``start``, if nothing else is in its way."""
        self.start_at[vertex] = start
        self.call(vertex, start)

    def call(self, vertex: int, time: float) -> None:
        """Look at ``vertex`` at ``time``."""
        heapq.heappush(self._timers, (time, vertex))

    def slow_down(self, vertex: int, until: float) -> None:
        """Let ``vertex`` start no more before ``until``."""
        self._not_before[vertex] = max(until, self._not_before.get(vertex, until))

    def forget(self, vertex: int) -> None:
        """``vertex`` has left the graph, or is another now: nothing slows it down."""
        self._not_before.pop(vertex, None)

    def next_time(self) -> float:
        """When to ask for what is due; infinity when nothing will be."""
        return self._timers[0][0] if self._timers else float("inf")

    def due(self, now: float) -> Iterator[tuple[int, bool]]:
        """The vertices whose time has come, each with whether it is to be tried again."""
        timers, retries = self._timers, self._retries.due
        while timers and timers[0][0] <= now:
            _, vertex = heapq.heappop(timers)
            if self.start_at.get(vertex, now + 1) <= now:
                del self.start_at[vertex]
                yield vertex, False
            if retries.get(vertex, now + 1) <= now:
                del retries[vertex]
                yield vertex, True
