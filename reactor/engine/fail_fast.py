"""What may still start under ``fail_fast`` while something has failed. Part of the scheduler: no I/O and no clock."""

from __future__ import annotations

from reactor.engine.blocking import Blocking
from reactor.graph.topology import Topology


class FailFast:
    """Holds back every vertex that has nothing to do with what failed, until all that counts has recovered.

    What failed may always start, and so may its ancestors over edges of any kind: it is retried only after all of them
    have settled, so to hold one of them back would be to hold the retry back for ever.
    """

    def __init__(self, topology: Topology, blocking: Blocking) -> None:
        self._blocking = blocking
        self.reshape(topology)

    def reshape(self, topology: Topology) -> None:
        """Continue with another graph. Whoever calls this tries all vertices again that may start."""
        self._topology = topology
        self._predecessors: list[list[int]] | None = None
        self._upstream: set[int] | None = None
        self._held_back: dict[int, None] = {}

    def holds_back(self, vertex: int) -> bool:
        """Whether ``vertex`` must not start now. If so, `failed` or `recovered` returns it later."""
        if not self._blocking.root_failures() or vertex in self._upstream_of_failures():
            return False
        self._held_back[vertex] = None
        return True

    def failed(self, vertex: int) -> list[int]:
        """``vertex`` failed. Returns those held back that may start now, because they are ancestors of a failure."""
        known = self._upstream
        new = self._upstream_of_failures() if known is None else self._walk_up(vertex, known)
        released = [each for each in new if each in self._held_back]
        for each in released:
            del self._held_back[each]
        return released

    def recovered(self) -> list[int]:
        """Something that had failed is ok. Returns those held back, if no failure that counts is left."""
        self._upstream = None
        if self._blocking.root_failures():
            return []
        released, self._held_back = list(self._held_back), {}
        return released

    def _upstream_of_failures(self) -> set[int]:
        """All that failed, and all ancestors of it."""
        if self._upstream is None:
            self._upstream = set()
            for vertex in self._blocking.failed:
                self._walk_up(vertex, self._upstream)
        return self._upstream

    def _walk_up(self, vertex: int, known: set[int]) -> list[int]:
        """Add ``vertex`` and its ancestors to ``known``; return those that were not in it."""
        if self._predecessors is None:
            self._predecessors = _reversed(self._topology)
        new, stack = [], [vertex]
        while stack:
            each = stack.pop()
            if each not in known:
                known.add(each)
                new.append(each)
                stack += self._predecessors[each]
        return new


def _reversed(topology: Topology) -> list[list[int]]:
    """The direct predecessors of every vertex, over edges of any kind."""
    predecessors: list[list[int]] = [[] for _ in range(topology.size)]
    for vertex, successors in enumerate(topology.successors):
        for successor in successors:
            predecessors[successor].append(vertex)
    return predecessors
