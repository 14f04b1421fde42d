"""Who can't go on because of whom: failures, and what they block over strong edges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from reactor.graph.topology import Topology


class Blame:
    """Which vertices failed, and which are blocked because something they require is not ok.

    A vertex is *bad* when it failed or is blocked. ``_bad_count`` counts the direct strong predecessors that are bad.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._bad = bytearray(topology.size)
        self._bad_count = [0] * topology.size
        self.transitions: list[tuple[int, bool]] = []
        """The vertices that became blocked (True) or free again (False) since they were taken, in order."""
        self.failed: set[int] = set()
        self.blocked: set[int] = set()
        self.wholes: Mapping[int, Collection[int]] = {}
        """By vertex: those that stand for it. They fail with it, and answer for that."""

    def stands_in_the_way_of(self, vertex: int) -> bool:
        """Whether something that ``vertex`` requires is bad."""
        return self._bad_count[vertex] > 0

    def answerable(self) -> set[int]:
        """Those that failed and that no other stands for."""
        return self.failed.difference(self.wholes)

    def is_over_for(self, vertex: int) -> bool:
        """Whether ``vertex`` starts no more when the first failure ends a run.

        What failed may be tried again, and a whole that failed recovers by what it stands for.
        """
        return vertex not in self.failed and not self.answerable() <= self._standing_for(vertex)

    def _standing_for(self, vertex: int) -> set[int]:
        found: set[int] = set()
        stack = [vertex]
        while stack:
            wholes = self.wholes.get(stack.pop(), ())
            found.update(wholes)
            stack.extend(wholes)
        return found

    def fail(self, vertex: int, moves: bytearray) -> None:
        """``vertex`` failed: those below that rest are blocked. Those that move are asked about when they start."""
        self.failed.add(vertex)
        self._worsen(vertex, moves)

    def block(self, vertex: int, moves: bytearray) -> None:
        """``vertex`` wanted to start, and something it requires is bad."""
        self.blocked.add(vertex)
        self.transitions.append((vertex, True))
        self._worsen(vertex, moves)

    def recover(self, vertex: int, freed: Callable[[int], None]) -> None:
        """``vertex`` is ok again: those that only waited for it are free, and ``freed`` is called for each."""
        self.failed.discard(vertex)
        self._bad[vertex] = 0
        stack = [vertex]
        while stack:
            for below in self._topology.strong[stack.pop()]:
                self._bad_count[below] -= 1
                if self._bad_count[below] or below not in self.blocked:
                    continue
                self.blocked.discard(below)
                self.transitions.append((below, False))
                freed(below)
                if below not in self.failed:
                    self._bad[below] = 0
                    stack.append(below)

    def reshape(self, topology: Topology, failed: Iterable[int], moves: bytearray) -> None:
        """Go on with other edges; only ``failed`` are failed, and who is blocked is found anew.

        ``moves`` are those that run: only they are not blocked at once by what is bad above them.
        """
        blocked_before = self.blocked
        self._topology = topology
        self._bad = bytearray(topology.size)
        self._bad_count = [0] * topology.size
        self.failed, self.blocked = set(), set()
        pending, self.transitions = self.transitions, []
        for vertex in failed:
            self.fail(vertex, moves)
        self.transitions = pending
        self.transitions += [(vertex, False) for vertex in sorted(blocked_before - self.blocked)]
        self.transitions += [(vertex, True) for vertex in sorted(self.blocked - blocked_before)]

    def take_transitions(self) -> list[tuple[int, bool]]:
        """What `transitions` holds, for the last time."""
        taken, self.transitions = self.transitions, []
        return taken

    def culprits(self, vertex: int) -> list[int]:
        """The failed vertices at the root of why ``vertex`` is blocked, in order."""
        roots: set[int] = set()
        seen = {vertex}
        stack = [vertex]
        while stack:
            for up in self._topology.strong_predecessors[stack.pop()]:
                if not self._bad[up] or up in seen:
                    continue
                seen.add(up)
                if up in self.blocked:
                    stack.append(up)
                else:
                    roots.add(up)
        return sorted(roots)

    def _worsen(self, vertex: int, moves: bytearray) -> None:
        if self._bad[vertex]:
            return
        self._bad[vertex] = 1
        stack = [vertex]
        while stack:
            for below in self._topology.strong[stack.pop()]:
                self._bad_count[below] += 1
                if self._bad_count[below] > 1 or moves[below] or below in self.blocked:
                    continue
                self.blocked.add(below)
                self.transitions.append((below, True))
                if not self._bad[below]:
                    self._bad[below] = 1
                    stack.append(below)
