"""What the simulation and its oracle talk about: the graph, the rules of each vertex, the breach of a promise.

Nothing of reactor is imported here, nor by the oracle: what they know is the design's text, not its code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

INITIAL, INTENT, DRIFT, REFRESH, RETRY, AUDIT = (1 << bit for bit in range(6))
"""Causes of checks, as bits."""

STRONG = frozenset(("subscribe", "require", "automatic"))
"""The kinds of edges over which a failure blocks."""
TELLING = frozenset(("subscribe", "notify"))
"""The kinds of edges that carry a refresh."""


class BreachError(AssertionError):
    """A promise is broken."""


@dataclass(frozen=True)
class Debounce:
    """A refresh waits until nothing has changed for ``calm`` seconds, but at most ``at_most`` after the first change."""

    calm: float
    at_most: float


@dataclass(frozen=True)
class Rules:
    """The limits of one vertex. ``retry``: further attempts, -1 without end. ``rate``: checks per second."""

    retry: int = -1
    delay: float = 1.0
    rate: float | None = None
    semaphores: tuple[str, ...] = ()
    noop: bool = False
    debounce: Debounce | None = None
    group: str | None = None

    def capacity(self, semaphore: str) -> int:
        """How many may hold ``semaphore`` at once: the number after its colon, one without that."""
        name, colon, count = semaphore.partition(":")
        return int(count) if name and colon else 1


@dataclass(frozen=True)
class Edge:
    """Why the second of a pair goes after the first. With ``ends``, a failure of the first ends the order."""

    kind: str
    ends: bool = False
    debounce: Debounce | None = None


@dataclass
class Shape:
    """One generation: the ``present`` vertices (bits), the edges between them, and who stands for whom.

    ``before`` has, for each vertex, its ancestors over all edges as bits; ``blockers`` those whose failure blocks it.
    """

    size: int
    present: int
    edges: dict[tuple[int, int], Edge]
    composites: dict[int, tuple[int, ...]] = field(default_factory=dict)
    before: list[int] = field(init=False)
    below: list[int] = field(init=False)
    blockers: list[int] = field(init=False)
    told_by: dict[int, list[tuple[int, Edge]]] = field(init=False)

    def __post_init__(self) -> None:
        """Find what follows from the edges. They lead from lower to higher numbers."""
        self.before, self.below, self.blockers = ([0] * self.size for _ in range(3))
        over = [0] * self.size
        self.told_by = {}
        for (first, second), edge in sorted(self.edges.items(), key=lambda item: item[0][1]):
            self.before[second] |= self.before[first] | 1 << first
            if edge.ends:
                over[second] |= over[first] | 1 << first
            if edge.kind in TELLING:
                self.told_by.setdefault(first, []).append((second, edge))
        for (first, second), edge in sorted(self.edges.items(), key=lambda item: item[0][1]):
            self.blockers[second] |= over[second]
            if edge.kind in STRONG:
                self.blockers[second] |= self.blockers[first] | 1 << first
        for vertex in range(self.size):
            for other in bits(self.before[vertex]):
                self.below[other] |= 1 << vertex


def bits(mask: int) -> list[int]:
    """The vertices in ``mask``."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
