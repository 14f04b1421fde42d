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
    waits_for = _indegrees(successors)
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
    everything = set(range(len(successors)))
    behind = everything.difference(_peeled(successors))
    return behind.difference(_peeled(predecessors(successors))) if behind else behind


def _peeled(onwards: Successors) -> list[int]:
    """The vertices that nothing leads to, then those that only they lead to, and so on, in such an order."""
    waits_for = _indegrees(onwards)
    loose = [vertex for vertex, count in enumerate(waits_for) if not count]
    for vertex in loose:  # it grows
        for second in onwards[vertex]:
            waits_for[second] -= 1
            if not waits_for[second]:
                loose.append(second)
    return loose


def _indegrees(successors: Successors) -> list[int]:
    """How many edges lead to each vertex."""
    counts = [0] * len(successors)
    for seconds in successors:
        for second in seconds:
            counts[second] += 1
    return counts
