"""Assigns a vertex number to each resource. A resource keeps its number for as long as it is in the manifest."""

from __future__ import annotations

from collections.abc import Container, KeysView, Mapping
from typing import NamedTuple

from reactor.engine.admission import group_of
from reactor.engine.limits import DEFAULT_LIMITS, Limits
from reactor.graph.graph import Claimed, Graph
from reactor.graph.topology import Topology
from reactor.resource.base import Resource
from reactor.resource.common_properties import DEFAULT_META
from reactor.resource.declared import declare, desires_the_same
from reactor.resource.redaction import show_names


class GraphDiff(NamedTuple):
    """The differences between two generations, as vertex numbers. ``kept`` are equal in all their properties.

    ``gone`` have left the graph now. ``absent`` are these, and the vertices that left earlier but kept their number.
    """

    kept: list[int]
    changed: list[int]
    added: list[int]
    gone: list[int]
    absent: list[int]


class VertexTable:
    """The vertices of a run. When a ref leaves the graph, its number may be reused from the next generation on.

    So a run whose manifest keeps getting new names does not grow. A ref whose check still runs keeps its number; if it
    comes back, it is again the vertex of that check.
    """

    def __init__(self, *, noop: bool, monitor_only: bool) -> None:
        self.refs: list[str] = []
        self.resources: list[Resource] = []
        self.limits: dict[int, Limits] = {}
        """Only the vertices that have limits of their own."""
        self._present: dict[int, None] = {}  # a set takes five times the memory
        self.present: KeysView[int] = self._present.keys()
        """The vertices of the graph in force."""
        self.left_out: dict[str, list[str]] = {}
        """The subscribers of each ref that are not in this run, as in `Graph`: their refreshes stay pending."""
        self.claimed = Claimed()
        """The claims of the graph in force."""
        self._monitor_only = monitor_only
        self._usual = Limits(noop=True) if noop else DEFAULT_LIMITS
        self._number: dict[str, int] = {}
        self._free: list[int] = []

    def number(self, ref: str) -> int:
        """The vertex of ``ref``. Raises KeyError when the run does not know it, or knows it no longer."""
        return self._number[ref]

    def find(self, ref: str) -> int | None:
        """The vertex of ``ref`` if it is in the graph in force, else None."""
        vertex = self._number.get(ref)
        return vertex if vertex in self.present else None

    def discard(self, vertex: int) -> None:
        """``vertex``, which has undone its resource, is no longer in the graph in force."""
        self._present.pop(vertex, None)

    def noop(self, vertex: int) -> bool:
        """Whether ``vertex`` must not be changed: a check only reports what it would do."""
        return self.limits.get(vertex, DEFAULT_LIMITS).noop

    def replace_graph(self, graph: Graph, running: Container[int] = ()) -> tuple[Topology, GraphDiff]:
        """Switch to ``graph``. Equal resources stay the same objects, because they hold what they have observed.

        ``running`` are the vertices whose checks have not ended.
        """
        self._add(graph.resources)
        difference = self._compare(graph)
        show_names(graph.resources)
        for vertex in (*difference.changed, *difference.added):
            self.resources[vertex] = graph.resources[self.refs[vertex]]
        self._present = {self._number[ref]: None for ref in graph.resources}
        self.present = self._present.keys()
        self.left_out = graph.left_out
        self.claimed = graph.claimed
        for vertex in (*difference.changed, *difference.added, *difference.gone):
            self._set_limits(vertex)
        topology = Topology.of(graph, self._number, len(self.refs))
        if self._monitor_only:  # in this mode, a bad health check must not block other resources
            topology.ends.clear()
            topology.ended_by.clear()
        for vertex in difference.absent:
            if vertex not in running:
                del self._number[self.refs[vertex]]
                self._free.append(vertex)
        return topology, difference

    def _add(self, resources: Mapping[str, Resource]) -> None:
        """Give a number to each of ``resources`` that has none."""
        for ref, resource in resources.items():
            if ref in self._number:
                continue
            if self._free:
                vertex = self._free.pop()
                self.refs[vertex], self.resources[vertex] = ref, resource
            else:
                vertex = len(self.refs)
                self.refs.append(ref)
                self.resources.append(resource)
            self._number[ref] = vertex

    def _compare(self, graph: Graph) -> GraphDiff:
        kept, changed, added = [], [], []
        for ref, resource in graph.resources.items():
            vertex = self._number[ref]
            if vertex not in self.present:
                added.append(vertex)
            elif desires_the_same(self.resources[vertex], resource):
                kept.append(vertex)
                known = self.resources[vertex]
                if (
                    known.declared.deferred is not resource.declared.deferred
                ):  # the values are equal now, but may differ later
                    declare(known, known.declared._replace(deferred=resource.declared.deferred))
            else:
                changed.append(vertex)
        gone = sorted(set(self.present).difference(kept, changed, added))
        absent = sorted(set(self._number.values()).difference(kept, changed, added))
        return GraphDiff(kept, changed, added, gone, absent)

    def _set_limits(self, vertex: int) -> None:
        resource = self.resources[vertex]
        meta = resource.meta
        limits = self._usual if meta is DEFAULT_META else Limits.of(meta, noop=self._usual.noop)
        if not limits.noop and (group := group_of(resource)) is not None:
            limits = limits._replace(group=group)
        if resource.slot is not None:
            limits = limits._replace(slot=resource.slot)
        self.limits.pop(vertex, None)
        if limits is not DEFAULT_LIMITS:
            self.limits[vertex] = limits
