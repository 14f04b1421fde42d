"""What a run without watches has changed, and which of its checks began before that."""

from __future__ import annotations

import time
from collections.abc import Hashable

_Began = tuple[int, int, int, Hashable]
"""When the last check of a vertex began: after how many changes of all, and of its batch; the time; and the batch."""


class ChangeLog:
    """Counts the checks that changed something, also those that failed halfway, when they end.

    Most runs change nothing, so a check that began before the first change is kept only if it changes something itself: of
    the others it is known that they began then.
    """

    def __init__(self) -> None:
        self.changes = 0
        """How many have ended."""
        self._started_at = time.time_ns()
        self._began: dict[int, _Began] = {}
        self._own: dict[Hashable, int] = {}
        self._changing: set[int] = set()

    def begins(self, vertex: int, batch: Hashable = None) -> None:
        """A check of ``vertex`` begins. All that are applied together are of one ``batch``.

        While nothing has changed, this need not be called.
        """
        key = vertex if batch is None else batch
        self._began[vertex] = (self.changes, self._own.get(key, 0), time.time_ns(), key)

    def changing(self, vertex: int, batch: Hashable = None) -> None:
        """The check of ``vertex`` is about to change something."""
        if vertex not in self._began:
            self._began[vertex] = (0, 0, self._started_at, vertex if batch is None else batch)
        self._changing.add(vertex)

    def ends(self, vertex: int) -> None:
        """The check of ``vertex`` ended."""
        if vertex in self._changing:
            self._changing.discard(vertex)
            self.changes += 1
            batch = self._began[vertex][3]
            self._own[batch] = self._own.get(batch, 0) + 1

    def others_since(self, vertex: int) -> bool:
        """Whether another change has ended since the last check of ``vertex`` began; one of its batch is none."""
        changes, own, _, batch = self._began.get(vertex, (0, 0, 0, vertex))
        return self.changes - changes > self._own.get(batch, 0) - own

    def began_at(self, vertex: int) -> int:
        """When the last check of ``vertex`` began, at the earliest, in nanoseconds since 1970."""
        return self._began[vertex][2] if vertex in self._began else self._started_at
