"""Which resource has which vertex number. Numbers stay the same over all generations of a manifest."""

from __future__ import annotations

from typing import NamedTuple

from reactor.engine.groups import group_of
from reactor.engine.limits import DEFAULT_LIMITS, Limits
from reactor.graph.graph import Graph
from reactor.graph.topology import Topology
from reactor.resource.base import DEFAULT_META, Resource
from reactor.resource.secrecy import show_names


class Difference(NamedTuple):
    """What another generation means for the vertices, by number. ``kept`` are equal in all their properties."""

    kept: list[int]
    changed: list[int]
    added: list[int]
    gone: list[int]


class Roster:
    """The vertices of a run. A ref that leaves the graph keeps its number, for the day it comes back."""

    def __init__(self, *, noop: bool) -> None:
        self.refs: list[str] = []
        self.resources: list[Resource] = []
        self.limits: dict[int, Limits] = {}
        """Only of vertices that have limits of their own."""
        self.present: set[int] = set()
        self.left_out: dict[str, list[str]] = {}
        """Who is not in this run, and owes a refresh when a ref changes; as in `Graph`."""
        self._usual = Limits(noop=True) if noop else DEFAULT_LIMITS
        self._number: dict[str, int] = {}

    def number(self, ref: str) -> int:
        """The vertex of ``ref``. Raises KeyError when the run has never seen it."""
        return self._number[ref]

    def find(self, ref: str) -> int | None:
        """The vertex of ``ref``, if it is in the graph that is in force."""
        vertex = self._number.get(ref)
        return vertex if vertex in self.present else None

    def noop(self, vertex: int) -> bool:
        """Whether ``vertex`` is only to say what would be done."""
        return self.limits.get(vertex, DEFAULT_LIMITS).noop

    def adopt(self, graph: Graph) -> tuple[Topology, Difference]:
        """Go over to ``graph``. Resources that are equal stay the very objects: they know what they have seen."""
        difference = self._compare(graph)
        show_names(graph.resources)
        for ref, resource in graph.resources.items():
            if ref not in self._number:
                self._number[ref] = len(self.refs)
                self.refs.append(ref)
                self.resources.append(resource)
        for vertex in (*difference.changed, *difference.added):
            self.resources[vertex] = graph.resources[self.refs[vertex]]
        self.present = {self._number[ref] for ref in graph.resources}
        self.left_out = graph.left_out
        for vertex in (*difference.changed, *difference.added, *difference.gone):
            self._set_limits(vertex)
        return Topology.of(graph, self._number), difference

    def _compare(self, graph: Graph) -> Difference:
        kept, changed, added = [], [], []
        unseen = len(self.refs)
        for ref, resource in graph.resources.items():
            vertex = self._number.get(ref)
            if vertex is None:
                added.append(unseen)
                unseen += 1
            elif vertex not in self.present:
                added.append(vertex)
            elif self.resources[vertex].asks_the_same_as(resource):
                kept.append(vertex)
                self.resources[vertex].rebind(resource)
            else:
                changed.append(vertex)
        gone = sorted(self.present.difference(kept, changed, added))
        return Difference(kept, changed, added, gone)

    def _set_limits(self, vertex: int) -> None:
        resource = self.resources[vertex]
        meta = resource.meta
        limits = self._usual if meta is DEFAULT_META else Limits.of(meta, noop=self._usual.noop)
        if not limits.noop and (group := group_of(resource)) is not None:
            limits = limits._replace(group=group)
        self.limits.pop(vertex, None)
        if limits is not DEFAULT_LIMITS:
            self.limits[vertex] = limits
