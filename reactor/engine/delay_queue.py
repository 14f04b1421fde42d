"""What waits for a time: starts that are put off, and attempts that follow a failure. Part of the scheduler: no clock."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reactor.engine.events import Cause
from reactor.engine.retries import Retries


class DelayQueue:
    """When vertices may start. Times are those of the scheduler; ``retries`` has those of the vertices that failed."""

    def __init__(self, retries: Retries) -> None:
        self.start_at: dict[int, float] = {}
        """When each vertex that waits only for a time starts."""
        self.resting: dict[int, float] = {}
        """Until when a flapping vertex rests: a check for drift is due, and blocks no other vertex."""
        self.slowed: set[int] = set()
        """The vertices that have a rate, or flap. All others may start at once."""
        self._not_before: dict[int, float] = {}
        self._fought_over_until: dict[int, float] = {}
        self._retries = retries
        self._timers: list[tuple[float, int]] = []

    def earliest(self, vertex: int, start: float, *, failed: bool) -> float:
        """When ``vertex`` may start that is to at ``start``: a rate limits every start, a pause those after a failure."""
        if vertex in self.slowed:
            start = max(
                start, self._not_before.get(vertex, start), self._fought_over_until.get(vertex, start)
            )
        return max(start, self._retries.earliest(vertex)) if failed else start

    def delay_until(self, vertex: int, start: float) -> None:
        """``vertex`` starts at ``start``, if nothing else is in its way."""
        self.start_at[vertex] = start
        self.wake_at(vertex, start)

    def wake_at(self, vertex: int, time: float) -> None:
        """Look at ``vertex`` at ``time``."""
        heapq.heappush(self._timers, (time, vertex))

    def throttle_until(self, vertex: int, until: float) -> None:
        """Let ``vertex`` start no more before ``until``."""
        self._not_before[vertex] = until
        self.slowed.add(vertex)

    def pace(self, vertex: int, until: float) -> None:
        """``vertex`` flaps: do not repair it again before ``until``."""
        self._fought_over_until[vertex] = until
        self.slowed.add(vertex)

    def rests(self, vertex: int, now: float) -> bool:
        """Whether ``vertex``, which is due for drift only, must wait at rest; `due` returns it when the wait is over.

        What is below it goes on meanwhile. A fight would keep it from starting for ever.
        """
        if (until := self._fought_over_until.get(vertex, now)) <= now:
            return False
        if self.resting.get(vertex) != until:
            self.resting[vertex] = until
            self.wake_at(vertex, until)
        return True

    def forget(self, vertex: int) -> None:
        """``vertex`` has left the graph, or is another now: nothing slows it down."""
        self.slowed.discard(vertex)
        self._not_before.pop(vertex, None)
        self._fought_over_until.pop(vertex, None)
        self.resting.pop(vertex, None)

    def next_time(self) -> float:
        """When to ask for what is due; infinity when nothing will be."""
        return self._timers[0][0] if self._timers else float("inf")

    def due(self, now: float) -> Iterator[tuple[int, Cause | None]]:
        """The vertices whose time has come, each with the cause to mark it for; None: it may start."""
        timers, retries = self._timers, self._retries.due
        while timers and timers[0][0] <= now:
            _, vertex = heapq.heappop(timers)
            if self.start_at.get(vertex, now + 1) <= now:
                del self.start_at[vertex]
                yield vertex, None
            if self.resting.get(vertex, now + 1) <= now:
                del self.resting[vertex]
                yield vertex, Cause.DRIFT
            if retries.get(vertex, now + 1) <= now:
                del retries[vertex]
                yield vertex, Cause.RETRY
