"""Which vertices failures block, and which may start after a failure with ``fail_fast``. Part of the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from reactor.graph.topology import Topology, predecessors

_Question = tuple[int, bool]
"""A blocked vertex, and whether to ask only about the failures that ended its ordered chain."""
Known = dict[_Question, tuple[int, ...]]
"""The root failures found so far, by question."""


class Blocking:
    """Which vertices failed, and which are blocked because something they require is not ok.

    A vertex is *bad* when it failed or is blocked. An ordered chain (``topology.ends``) ends for all vertices after
    the first one that failed; a vertex that is only blocked does not end it. ``_bad_count`` counts the direct strong
    predecessors that are bad, plus one if the chain has ended for the vertex. ``_over_count`` counts the direct
    predecessors in chains that failed or for which the chain has ended.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._bad = bytearray(topology.size)
        self._bad_count = [0] * topology.size
        self._over_count: Counter[int] = Counter()
        self.transitions: list[tuple[int, bool]] = []
        """The vertices that became blocked (True) or unblocked (False) since the last `take_transitions`, in order."""
        self.failed: set[int] = set()
        self.blocked: set[int] = set()
        self.composites: Mapping[int, Collection[int]] = {}
        """The composites of each member vertex.

        They fail when it fails, and count as the root failure instead of it.
        """

    def is_blocked(self, vertex: int) -> bool:
        """Whether ``vertex`` is blocked.

        Something it requires is bad, or its ordered chain ended at an earlier failure.
        """
        return self._bad_count[vertex] > 0

    def is_order_ended(self, vertex: int) -> bool:
        """Whether an ordered chain, which ends at the first failure, has ended before ``vertex``."""
        return self._over_count[vertex] > 0

    def root_failures(self) -> set[int]:
        """The failed vertices, except members of a composite: the composite counts instead."""
        return self.failed.difference(self.composites)

    def fail(self, vertex: int, moves: bytearray) -> None:
        """``vertex`` failed: block the idle vertices below it.

        Active ones (``moves``) are tested when they want to start.
        """
        if vertex not in self.failed:
            self.failed.add(vertex)
            self._block_below(self._turned(vertex, 1), moves)
        self._worsen(vertex, moves)

    def block(self, vertex: int, moves: bytearray) -> None:
        """Block ``vertex``, which wanted to start although something it requires is bad.

        A `reshape` may have blocked it already.
        """
        if vertex not in self.blocked:
            self.blocked.add(vertex)
            self.transitions.append((vertex, True))
            self._worsen(vertex, moves)

    def recover(self, vertex: int, freed: Callable[[int], None]) -> None:
        """``vertex`` is ok again: unblock the vertices that only it blocked, and call ``freed`` for each."""
        self.failed.discard(vertex)
        self._bad[vertex] = 0
        stack: list[Sequence[int]] = [self._topology.strong[vertex], self._turned(vertex, -1)]
        while stack:
            for below in stack.pop():
                self._bad_count[below] -= 1
                if self._bad_count[below] or below not in self.blocked:
                    continue
                self.blocked.discard(below)
                self.transitions.append((below, False))
                freed(below)
                if below not in self.failed:
                    self._bad[below] = 0
                    stack.append(self._topology.strong[below])

    def reshape(self, topology: Topology, failed: Iterable[int], moves: bytearray) -> None:
        """Switch to other edges. Only the vertices in ``failed`` stay failed; the blocked ones are computed again.

        ``moves`` has 1 for each active vertex: those are not blocked at once by bad vertices above them.
        """
        blocked_before = self.blocked
        self._topology = topology
        self._bad = bytearray(topology.size)
        self._bad_count = [0] * topology.size
        self._over_count.clear()
        self.failed, self.blocked = set(), set()
        pending, self.transitions = self.transitions, []
        for vertex in failed:
            self.fail(vertex, moves)
        self.transitions = pending
        self.transitions += [(vertex, False) for vertex in sorted(blocked_before - self.blocked)]
        self.transitions += [(vertex, True) for vertex in sorted(self.blocked - blocked_before)]

    def take_transitions(self) -> list[tuple[int, bool]]:
        """Return ``transitions`` and clear it."""
        taken, self.transitions = self.transitions, []
        return taken

    def culprits(self, vertex: int, known: Known) -> tuple[int, ...]:
        """The failed vertices that are the root cause of ``vertex`` being blocked, in order.

        ``known`` collects the answers for all vertices on the way. It is valid until something changes, and makes
        asking for every vertex of a long chain as cheap as one walk along it.
        """
        stack = [(vertex, False)]
        while stack:
            failed, further = self._above(*stack[-1])
            if unknown := [each for each in further if each not in known]:
                stack += unknown
                continue
            roots = {(up,) for up in failed} | {known[each] for each in further}
            known[stack.pop()] = roots.pop() if len(roots) == 1 else tuple(sorted(set[int]().union(*roots)))
        return known[vertex, False]

    def _above(self, vertex: int, is_of_order: bool) -> tuple[list[int], list[_Question]]:
        """The vertices that block ``vertex`` directly: the failed ones, and the blocked ones, whose own reasons come next."""
        if is_of_order:
            before = self._topology.ended_by.get(vertex, ())
            failed = [up for up in before if up in self.failed]
            return failed, [(up, True) for up in before if up not in self.failed and self.is_order_ended(up)]
        bad = [up for up in self._topology.strong_predecessors[vertex] if self._bad[up]]
        blocked = [(up, False) for up in bad if up in self.blocked]
        ended = [(vertex, True)] if self.is_order_ended(vertex) else []
        return [up for up in bad if up not in self.blocked], blocked + ended

    def _turned(self, vertex: int, step: int) -> list[int]:
        """Count that ``vertex`` failed (1) or recovered (-1) in its ordered chains.

        Return the vertices whose `is_order_ended` has changed.
        """
        turned: list[int] = []
        stack = [] if self.is_order_ended(vertex) else [vertex]
        while stack:
            for below in self._topology.ends.get(stack.pop(), ()):
                was_over = self.is_order_ended(below)
                self._over_count[below] += step
                if was_over is not self.is_order_ended(below):
                    turned.append(below)
                    if below not in self.failed:
                        stack.append(below)
        return turned

    def _worsen(self, vertex: int, moves: bytearray) -> None:
        if not self._bad[vertex]:
            self._bad[vertex] = 1
            self._block_below(self._topology.strong[vertex], moves)

    def _block_below(self, vertices: Sequence[int], moves: bytearray) -> None:
        """Each of ``vertices`` has one more blocker: block it if it is idle, and then whatever requires it."""
        stack = [vertices]
        while stack:
            for below in stack.pop():
                self._bad_count[below] += 1
                if self._bad_count[below] > 1 or moves[below] or below in self.blocked:
                    continue
                self.blocked.add(below)
                self.transitions.append((below, True))
                if not self._bad[below]:
                    self._bad[below] = 1
                    stack.append(self._topology.strong[below])


class FailFast:
    """Holds back every vertex that is neither failed nor above a failed one, until no root failure is left.

    A failed vertex may always start, and so may its ancestors over edges of any kind: a retry waits until all
    of them have settled, so holding one of them back would hold the retry back for ever.
    """

    def __init__(self, topology: Topology, blocking: Blocking) -> None:
        self._blocking = blocking
        self.reshape(topology)

    def reshape(self, topology: Topology) -> None:
        """Switch to another graph. The caller tries to start all vertices again."""
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
        """``vertex`` failed.

        Return the held-back vertices that may start now because they are ancestors of a failure.
        """
        known = self._upstream
        new = self._upstream_of_failures() if known is None else self._walk_up(vertex, known)
        released = [each for each in new if each in self._held_back]
        for each in released:
            del self._held_back[each]
        return released

    def recovered(self) -> list[int]:
        """A failed vertex is ok again. Return the held-back vertices if no root failure is left, else an empty list."""
        self._upstream = None
        if self._blocking.root_failures():
            return []
        released, self._held_back = list(self._held_back), {}
        return released

    def _upstream_of_failures(self) -> set[int]:
        """All failed vertices and all their ancestors."""
        if self._upstream is None:
            self._upstream = set()
            for vertex in self._blocking.failed:
                self._walk_up(vertex, self._upstream)
        return self._upstream

    def _walk_up(self, vertex: int, known: set[int]) -> list[int]:
        """Add ``vertex`` and its ancestors to ``known``. Return the new ones."""
        if self._predecessors is None:
            self._predecessors = predecessors(self._topology.successors)
        new, stack = [], [vertex]
        while stack:
            each = stack.pop()
            if each not in known:
                known.add(each)
                new.append(each)
                stack += self._predecessors[each]
        return new
