"""Vertices that wait for a time: delayed starts and retries after failures. Part of the scheduler: reads no clock."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reactor.engine.events import Cause
from reactor.engine.retries import Retries


class DelayQueue:
    """When vertices may start.

    Times are on the scheduler's clock; ``retries`` has the retry times of failed vertices.
    """

    def __init__(self, retries: Retries) -> None:
        self.start_at: dict[int, float] = {}
        """The start time of each vertex that waits only for a time."""
        self.resting: dict[int, float] = {}
        """For each flapping vertex that waits: until when.

        Its check is due only for drift, and blocks no other vertex meanwhile.
        """
        self.slowed: set[int] = set()
        """The vertices that have a rate or flap. All others may start at once."""
        self._not_before: dict[int, float] = {}
        self._flapping_until: dict[int, float] = {}
        self._retries = retries
        self.timers: list[tuple[float, int]] = []
        """A heap of the times at which `due` must be called, each with a vertex."""

    def earliest(self, vertex: int, start: float, *, failed: bool) -> float:
        """The earliest time ``vertex`` may start if it would start at ``start``.

        A rate limit delays every start; the retry backoff delays only starts after a failure.
        """
        if vertex in self.slowed:
            start = max(start, self._not_before.get(vertex, start), self._flapping_until.get(vertex, start))
        return max(start, self._retries.earliest(vertex)) if failed else start

    def delay_until(self, vertex: int, start: float) -> None:
        """Start ``vertex`` at ``start``, unless something else prevents it."""
        self.start_at[vertex] = start
        self.wake_at(vertex, start)

    def wake_at(self, vertex: int, time: float) -> None:
        """Let `due` return ``vertex`` at ``time``."""
        heapq.heappush(self.timers, (time, vertex))

    def throttle_until(self, vertex: int, until: float) -> None:
        """Do not start ``vertex`` before ``until``."""
        self._not_before[vertex] = until
        self.slowed.add(vertex)

    def pace(self, vertex: int, until: float) -> None:
        """``vertex`` flaps: do not repair it again before ``until``."""
        self._flapping_until[vertex] = until
        self.slowed.add(vertex)

    def rests(self, vertex: int, now: float) -> bool:
        """Whether ``vertex``, which is due for drift only, must wait because it flaps.

        `due` returns it when the wait is over. The vertices below it are not kept waiting meanwhile: flapping could
        hold them back for ever.
        """
        if (until := self._flapping_until.get(vertex, now)) <= now:
            return False
        if self.resting.get(vertex) != until:
            self.resting[vertex] = until
            self.wake_at(vertex, until)
        return True

    def forget(self, vertex: int) -> None:
        """``vertex`` has left the graph, or has another resource: remove all its delays."""
        self.slowed.discard(vertex)
        self._not_before.pop(vertex, None)
        self._flapping_until.pop(vertex, None)
        self.resting.pop(vertex, None)

    def next_time(self) -> float:
        """When to call `due` next; infinity if nothing waits."""
        return self.timers[0][0] if self.timers else float("inf")

    def due(self, now: float) -> Iterator[tuple[int, Cause | None]]:
        """The vertices whose time has come, each with the cause to mark it for, or None if it may just start."""
        timers, retries = self.timers, self._retries.due
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
