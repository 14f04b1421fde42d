"""What a run without watches has changed, and which of its checks began before that."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable

_Began = tuple[int, int, int, Hashable]
"""When the last check of a vertex began: after how many changes of all, and of its batch; the time; and the batch."""


class ChangeLog:
    """Counts the checks that changed something, also those that failed halfway, when they end."""

    def __init__(self) -> None:
        self.changes = 0
        """How many have ended."""
        self._began: dict[int, _Began] = {}
        self._own: Counter[Hashable] = Counter()
        self._changing: set[int] = set()

    def begins(self, vertex: int, batch: Hashable = None) -> None:
        """A check of ``vertex`` begins. All that are applied together are of one ``batch``."""
        key = vertex if batch is None else batch
        self._began[vertex] = (self.changes, self._own.get(key, 0), time.time_ns(), key)

    def changing(self, vertex: int) -> None:
        """The check of ``vertex`` is about to change something."""
        self._changing.add(vertex)

    def ends(self, vertex: int) -> None:
        """The check of ``vertex`` ended."""
        if vertex in self._changing:
            self._changing.discard(vertex)
            self.changes += 1
            self._own[self._began[vertex][3]] += 1

    def others_since(self, vertex: int) -> bool:
        """Whether another change has ended since the last check of ``vertex`` began; one of its batch is none."""
        if (began := self._began.get(vertex)) is None:
            return False
        changes, own, _, batch = began
        return self.changes - changes > self._own[batch] - own

    def began_at(self, vertex: int) -> int:
        """When the last check of ``vertex`` began, in nanoseconds since 1970. There must have been one."""
        return self._began[vertex][2]
