"""Which vertices failures block, and which may start after a failure with ``fail_fast``. Part of the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from reactor.graph.topology import Topology

_Question = tuple[int, bool]
"""A vertex that is blocked, and whether it is only about the order that is over for it."""
Known = dict[_Question, tuple[int, ...]]
"""Whom to blame, by what was asked."""


class Blocking:
    """Which vertices failed, and which are blocked because something they require is not ok.

    A vertex is *bad* when it failed or is blocked. ``_bad_count`` counts what is in its way: the direct strong
    predecessors that are bad, and that an order is *over* for it. That is so once one before it in the order failed, and
    not when one is only blocked. ``_over_count`` counts the direct predecessors in orders that failed or are over.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._bad = bytearray(topology.size)
        self._bad_count = [0] * topology.size
        self._over_count: Counter[int] = Counter()
        self.transitions: list[tuple[int, bool]] = []
        """The vertices that became blocked (True) or free again (False) since they were taken, in order."""
        self.failed: set[int] = set()
        self.blocked: set[int] = set()
        self.composites: Mapping[int, Collection[int]] = {}
        """By vertex: those that stand for it. They fail with it, and answer for that."""

    def is_blocked(self, vertex: int) -> bool:
        """Whether something that ``vertex`` requires is bad, or its order is over."""
        return self._bad_count[vertex] > 0

    def is_order_ended(self, vertex: int) -> bool:
        """Whether an order that ends with the first failure has ended before ``vertex``."""
        return self._over_count[vertex] > 0

    def root_failures(self) -> set[int]:
        """Those that failed and that no other stands for."""
        return self.failed.difference(self.composites)

    def fail(self, vertex: int, moves: bytearray) -> None:
        """``vertex`` failed: those below that rest are blocked. Those that move are asked about when they start."""
        if vertex not in self.failed:
            self.failed.add(vertex)
            self._block_below(self._turned(vertex, 1), moves)
        self._worsen(vertex, moves)

    def block(self, vertex: int, moves: bytearray) -> None:
        """``vertex`` wanted to start, and something it requires is bad; a `reshape` may have found that already."""
        if vertex not in self.blocked:
            self.blocked.add(vertex)
            self.transitions.append((vertex, True))
            self._worsen(vertex, moves)

    def recover(self, vertex: int, freed: Callable[[int], None]) -> None:
        """``vertex`` is ok again: those that only waited for it are free, and ``freed`` is called for each."""
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
        """Go on with other edges; only ``failed`` are failed, and blocked vertices are found again.

        ``moves`` are those that run: only they are not blocked at once by what is bad above them.
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
        """What `transitions` holds, for the last time."""
        taken, self.transitions = self.transitions, []
        return taken

    def culprits(self, vertex: int, known: Known) -> tuple[int, ...]:
        """The failed vertices at the root of why ``vertex`` is blocked, in order.

        ``known`` gets the answers about all that is looked at, for as long as nothing changes: to ask for each vertex of
        a long chain takes no longer than to walk along it once.
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
        """What directly blocks ``vertex``: failed vertices, and blocked ones whose own reasons must be looked up."""
        if is_of_order:
            before = self._topology.ended_by.get(vertex, ())
            failed = [up for up in before if up in self.failed]
            return failed, [(up, True) for up in before if up not in self.failed and self.is_order_ended(up)]
        bad = [up for up in self._topology.strong_predecessors[vertex] if self._bad[up]]
        blocked = [(up, False) for up in bad if up in self.blocked]
        ended = [(vertex, True)] if self.is_order_ended(vertex) else []
        return [up for up in bad if up not in self.blocked], blocked + ended

    def _turned(self, vertex: int, step: int) -> list[int]:
        """Count that ``vertex`` failed (1) or recovered (-1) in its orders. Returns for whom that is another answer."""
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
        """One thing more is in the way of each of ``vertices``: those that rest are blocked, and what requires them."""
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
    """Holds back every vertex that has nothing to do with what failed, until all that counts has recovered.

    What failed may always start, and so may its ancestors over edges of any kind: it is retried only after all of them
    have settled, so to hold one of them back would be to hold the retry back for ever.
    """

    def __init__(self, topology: Topology, blocking: Blocking) -> None:
        self._blocking = blocking
        self.reshape(topology)

    def reshape(self, topology: Topology) -> None:
        """Continue with another graph. The caller tries all vertices again that may start."""
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
