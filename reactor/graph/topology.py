"""The graph as integers: vertices 0..n-1 and their successors, and how the scheduler reads it."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reactor.graph.graph import WEAK, EdgeKind, Graph
from reactor.resource.common_properties import RefreshDebounce
from reactor.resource.gc_control import gc_paused

# The functions on `Successors` are used while a run loads its manifest: importing networkx takes 0.15 to 0.26 s, and building
# its graph ten times as long as these lists.

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


Adjacency = list[tuple[int, ...]]
"""For each vertex, the vertices on the other end of its edges."""

_Lists = defaultdict[int, list[int]]
_NONE: tuple[int, ...] = ()


@dataclass(slots=True, repr=False)
class Topology:
    """The order of vertices, by number; vertices are numbered as in `Graph.refs`.

    Every list has ``size`` entries and is only read once built. ``strong`` holds the edges over which a failure
    blocks: all but ``after`` and ``notify``. ``notify`` holds those that carry a refresh. Equal neighbour lists are one object,
    so a graph of ``require`` edges only stores them once.
    """

    size: int
    successors: Adjacency
    strong: Adjacency
    notify: Adjacency
    strong_predecessors: Adjacency
    indegree: list[int]
    quiet: dict[tuple[int, int], RefreshDebounce] = field(default_factory=dict)
    """Of the edges over which a refresh waits for further ones."""
    ends: dict[int, list[int]] = field(default_factory=dict)
    """By vertex, those that an order does not come to when it fails."""
    ended_by: dict[int, list[int]] = field(default_factory=dict)
    """The same, read backwards."""

    def refreshes_only(self, first: int, second: int) -> bool:
        """Whether ``second`` is refreshed by changes of ``first`` and not blocked by its failures."""
        return second in self.notify[first] and second not in self.strong[first]

    @classmethod
    def of(cls, graph: Graph, number: Mapping[str, int] | None = None, size: int | None = None) -> Topology:
        """The topology of ``graph``, which must be acyclic, as `build` returns it.

        ``number`` gives each ref its vertex; by default as in `Graph.refs`. There are ``size`` vertices, of which some
        may have no ref; by default as many as refs.
        """
        if number is None:
            number = {ref: vertex for vertex, ref in enumerate(graph.refs)}
        edges = ((number[edge.first], number[edge.second], edge.kind) for edge in graph.edges)
        topology = cls.of_edges(len(number) if size is None else size, edges)
        topology.quiet.update(
            ((number[edge.first], number[edge.second]), edge.quiet)
            for edge in graph.edges
            if edge.quiet is not None
        )
        topology.end_orders((number[edge.first], number[edge.second]) for edge in graph.edges if edge.ends)
        return topology

    @classmethod
    def of_edges(cls, size: int, edges: Iterable[tuple[int, int, EdgeKind]]) -> Topology:
        """The topology of ``size`` vertices and ``(first, second, kind)`` edges: no pair twice, no cycle."""
        strong, after, notify, strong_predecessors = (_Lists(list) for _ in range(4))
        indegree = [0] * size
        with gc_paused():
            for first, second, kind in edges:
                indegree[second] += 1
                if kind in WEAK:
                    after[first].append(second)
                    if kind is EdgeKind.NOTIFY:
                        notify[first].append(second)
                    continue
                strong[first].append(second)
                strong_predecessors[second].append(first)
                if kind is EdgeKind.SUBSCRIBE:
                    notify[first].append(second)
            strongly = _adjacency(size, strong)
            return cls(
                size=size,
                successors=[
                    strongly[vertex] + tuple(after[vertex]) if vertex in after else strongly[vertex]
                    for vertex in range(size)
                ],
                strong=strongly,
                notify=_adjacency(size, notify, strongly),
                strong_predecessors=_adjacency(size, strong_predecessors),
                indegree=indegree,
            )

    def end_orders(self, edges: Iterable[tuple[int, int]]) -> None:
        """Let failures end orders over these edges, which the topology has already."""
        for first, second in edges:
            self.ends.setdefault(first, []).append(second)
            self.ended_by.setdefault(second, []).append(first)


def _adjacency(size: int, lists: _Lists, shared: Adjacency | None = None) -> Adjacency:
    """A tuple for each vertex: the one in ``shared`` where that is equal."""
    adjacency = [_NONE] * size
    for vertex, neighbours in lists.items():
        found = tuple(neighbours)
        adjacency[vertex] = shared[vertex] if shared is not None and shared[vertex] == found else found
    return adjacency
