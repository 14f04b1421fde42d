"""What build and export need to know of a bare directed graph: vertices 0..n-1 and their successors."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

Successors = Sequence[Collection[int]]
"""For each vertex, the vertices its edges lead to, none of them twice."""


def predecessors(successors: Successors) -> list[list[int]]:
    """The same edges, read backwards; each list is in ascending order."""
    backwards: list[list[int]] = [[] for _ in successors]
    for first, seconds in enumerate(successors):
        for second in seconds:
            backwards[second].append(first)
    return backwards


def topological_order(successors: Successors) -> list[int]:
    """The vertices so that every edge leads onwards; of those that may come next, the lowest number first.

    Vertices on or behind a cycle are left out.
    """
    waits_for = [len(firsts) for firsts in predecessors(successors)]
    ready = [vertex for vertex, count in enumerate(waits_for) if not count]
    order = []
    while ready:
        order.append(vertex := heapq.heappop(ready))
        for second in successors[vertex]:
            waits_for[second] -= 1
            if not waits_for[second]:
                heapq.heappush(ready, second)
    return order


def tangled(successors: Successors) -> set[int]:
    """The vertices on a cycle or between two cycles: empty exactly when the graph is acyclic.

    Takes away what no cycle can pass, from both ends, so that slower questions are asked of the rest only.
    """
    backwards = predecessors(successors)
    left = set(range(len(successors)))
    _peel(left, successors, backwards)
    _peel(left, backwards, successors)
    return left


def _peel(left: set[int], onwards: Successors, back: Successors) -> None:
    """Take from ``left`` the vertices that nothing in it leads to, then those of what remains, until there are none."""
    waits_for = {vertex: sum(other in left for other in back[vertex]) for vertex in left}
    loose = [vertex for vertex, count in waits_for.items() if not count]
    while loose:
        vertex = loose.pop()
        left.discard(vertex)
        for other in onwards[vertex]:
            if other in left:
                waits_for[other] -= 1
                if not waits_for[other]:
                    loose.append(other)
