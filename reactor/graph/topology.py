"""The graph as integers: vertices 0..n-1 and their successors, and the form of it that the scheduler uses."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reactor.graph.graph import WEAK, EdgeKind, Graph
from reactor.resource.common_properties import RefreshDebounce
from reactor.resource.gc_control import gc_paused

# The functions on `Successors` are used while a run loads its manifest: importing networkx takes 0.15 to 0.26 s, and
# building its graph takes ten times as long as these lists.

Successors = Sequence[Collection[int]]
"""For each vertex, its successors, without duplicates."""


def predecessors(successors: Successors) -> list[list[int]]:
    """The same edges reversed; each list is in ascending order."""
    backwards: list[list[int]] = [[] for _ in successors]
    for first, seconds in enumerate(successors):
        for second in seconds:
            backwards[second].append(first)
    return backwards


def topological_order(successors: Successors) -> list[int]:
    """The vertices in topological order; whenever several may come next, the lowest number first.

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

    Removes from both ends the vertices that can't be on a cycle, so that slower searches run only on the rest.
    """
    everything = set(range(len(successors)))
    behind = everything.difference(_peeled(successors))
    return behind.difference(_peeled(predecessors(successors))) if behind else behind


def _peeled(onwards: Successors) -> list[int]:
    """The vertices without predecessors, then those with only these as predecessors, and so on, in this order."""
    waits_for = _indegrees(onwards)
    loose = [vertex for vertex, count in enumerate(waits_for) if not count]
    for vertex in loose:  # the list grows
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
"""For each vertex, its successors or predecessors."""

_Lists = defaultdict[int, list[int]]
_NONE: tuple[int, ...] = ()


@dataclass(slots=True, repr=False)
class Topology:
    """The edges between vertices, by number; vertices are numbered as in `Graph.refs`.

    Every list has ``size`` entries and is only read once built: several may be the same. ``strong`` holds the edges
    over which a failure blocks: all except ``after`` and ``notify``. ``notify`` holds the edges that carry a refresh.
    Equal neighbour lists are one object, so a graph of ``require`` edges stores them only once.
    """

    size: int
    successors: Adjacency
    strong: Adjacency
    notify: Adjacency
    strong_predecessors: Adjacency
    indegree: list[int]
    quiet: dict[tuple[int, int], RefreshDebounce] = field(default_factory=dict)
    """The debounce of each edge over which a refresh waits for further ones."""
    ends: dict[int, list[int]] = field(default_factory=dict)
    """By vertex: the vertices that are next in an ordered chain which ends when this one fails."""
    ended_by: dict[int, list[int]] = field(default_factory=dict)
    """The same, reversed."""

    def refreshes_only(self, first: int, second: int) -> bool:
        """Whether ``second`` is refreshed by changes of ``first`` and not blocked by its failures."""
        return second in self.notify[first] and second not in self.strong[first]

    @classmethod
    def of(cls, graph: Graph, number: Mapping[str, int] | None = None, size: int | None = None) -> Topology:
        """The topology of ``graph``, which must be acyclic, as returned by `build`.

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
        """The topology of ``size`` vertices and ``(first, second, kind)`` edges, without duplicate pairs or cycles."""
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
            none = [_NONE] * size
            strongly = _adjacency(none, strong)
            successors = [*strongly] if after else strongly
            for vertex, seconds in after.items():
                successors[vertex] += tuple(seconds)
            return cls(
                size=size,
                successors=successors,
                strong=strongly,
                notify=_adjacency(none, notify, strongly),
                strong_predecessors=_adjacency(none, strong_predecessors),
                indegree=indegree,
            )

    def end_orders(self, edges: Iterable[tuple[int, int]]) -> None:
        """Let a failure end the ordered chain over each of these edges, which the topology already has."""
        for first, second in edges:
            self.ends.setdefault(first, []).append(second)
            self.ended_by.setdefault(second, []).append(first)


def _adjacency(none: Adjacency, lists: _Lists, shared: Adjacency | None = None) -> Adjacency:
    """A tuple for each vertex; reuses the one in ``shared`` if it is equal. Without any neighbour it is ``none`` itself."""
    if not lists:
        return none
    adjacency = [*none]
    for vertex, neighbours in lists.items():
        found = tuple(neighbours)
        adjacency[vertex] = shared[vertex] if shared is not None and shared[vertex] == found else found
    return adjacency
