"""What may keep a vertex from starting besides its place in the graph: its group, its semaphores, its rate.

Part of the scheduler: no I/O and no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reactor.engine.batch_scheduler import BatchScheduler
from reactor.engine.delay_queue import DelayQueue
from reactor.engine.limits import DEFAULT_LIMITS, Limits, Semaphores

_LEFT_ALONE: Final[tuple[bool, list[int]]] = (True, [])


class Admission:
    """The limits of every vertex, and who has to wait because of them. ``delay_queue`` keeps those back that go too fast."""

    def __init__(self, limits: Mapping[int, Limits], delay_queue: DelayQueue) -> None:
        self.limits = dict(limits)
        """Only of vertices that have limits of their own."""
        self.batches = BatchScheduler(self.limits)
        self._semaphores = Semaphores()
        self._delay_queue = delay_queue

    def limits_of(self, vertex: int) -> Limits:
        """The limits of ``vertex``."""
        return self.limits.get(vertex, DEFAULT_LIMITS)

    def admits(self, vertex: int, now: float) -> bool:
        """Whether ``vertex`` may start now. If not, `leave` of who is in its way names it."""
        limits = self.limits_of(vertex)
        if limits.group is not None and self.batches.is_late(vertex):
            return False
        if limits.semaphores and not self._semaphores.acquire(limits.semaphores, vertex):
            return False
        if limits.rate is not None:
            self._delay_queue.throttle_until(vertex, now + 1 / limits.rate)
        return True

    def leave(self, vertex: int) -> tuple[bool, list[int]]:
        """The run of ``vertex`` ended: whether its job did too, which is that of its party, and who may try again."""
        if vertex not in self.batches.batch and vertex not in self._semaphores.held:
            return _LEFT_ALONE
        late = self.batches.leave(vertex) if vertex in self.batches.batch else []
        woken = self._semaphores.release(vertex) if vertex in self._semaphores.held else []
        return late is not None, [*(late or ()), *woken]

    def reshape(self, limits: Mapping[int, Limits]) -> None:
        """Go on with other limits. What was taken before is given back as it was taken."""
        self.limits = dict(limits)
        self.batches.reshape(self.limits)
