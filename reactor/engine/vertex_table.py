"""Assigns a vertex number to each resource. A resource keeps its number for as long as it is in the manifest."""

from __future__ import annotations

from collections.abc import Collection, Container, KeysView
from dataclasses import dataclass, field

from reactor.engine.admission import group_of
from reactor.engine.limits import DEFAULT_LIMITS, Limits
from reactor.graph.graph import Claimed, Graph
from reactor.graph.topology import Topology
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.common_properties import DEFAULT_META
from reactor.resource.declared import Deferred, declare, desires_the_same
from reactor.resource.redaction import show_names

LOOP = "for_each"
"""The kind of `reactor.resource.deferred_loop.DeferredLoop`, which is imported only where there is one."""


class GraphDiff(NamedTuple):
    """The differences between two generations, as vertex numbers. ``kept`` are equal in all their properties.

    ``gone`` have left the graph now. ``absent`` are these, and the vertices that left earlier but kept their number.
    """

    kept: list[int]
    changed: list[int]
    added: list[int]
    gone: list[int]
    absent: list[int]


@dataclass(slots=True, eq=False, repr=False)
class TableChange:
    """The vertices of ``graph``, compared with a table of that ``version``. `VertexTable.compare` fills it.

    By vertex: ``fresh`` are the changed and added resources, ``deferred`` the new expressions of kept resources, and
    ``moving`` the resources in force whose values may change at each check. ``number``, ``free``, ``present`` and ``size``
    are those of the table once the change is adopted.
    """

    graph: Graph
    version: int
    present_before: dict[int, None]
    number: dict[str, int]
    free: list[int]
    size: int
    present: dict[int, None] = field(default_factory=dict)
    difference: GraphDiff = field(default_factory=lambda: GraphDiff([], [], [], [], []))
    fresh: dict[int, Resource] = field(default_factory=dict)
    deferred: dict[int, Deferred | None] = field(default_factory=dict)
    moving: dict[int, Resource] = field(default_factory=dict)
    topology: Topology = field(init=False)

    def number_of(self, ref: str) -> int:
        """The vertex of ``ref``; gives it one if it has none."""
        if (vertex := self.number.get(ref)) is None:
            if self.free:
                vertex = self.free.pop()
            else:
                vertex, self.size = self.size, self.size + 1
            self.number[ref] = vertex
        return vertex

    def find_gone(self) -> None:
        """Find the vertices that have left the graph, once all of it is compared."""
        self.difference.gone.extend(sorted(self.present_before.keys() - self.present.keys()))
        self.difference.absent.extend(sorted(set(self.number.values()).difference(self.present)))


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
        self.needs_job = bytearray()
        """For each vertex, whether a check of it takes a job."""
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
        self._version = 0
        """How often the set of present vertices has changed."""

    def number(self, ref: str) -> int:
        """The vertex of ``ref``. Raises KeyError when the run does not know it, or knows it no longer."""
        return self._number[ref]

    def find(self, ref: str) -> int | None:
        """The vertex of ``ref`` if it is in the graph in force, else None."""
        vertex = self._number.get(ref)
        return vertex if vertex in self.present else None

    def discard(self, vertex: int) -> None:
        """``vertex``, which has undone its resource, is no longer in the graph in force."""
        self._version += 1
        self._present.pop(vertex, None)

    def noop(self, vertex: int) -> bool:
        """Whether ``vertex`` must not be changed: a check only reports what it would do."""
        return self.limits.get(vertex, DEFAULT_LIMITS).noop

    def fail_fast_reason(self, vertex: int) -> str:
        """The reason, as text, why the failure of ``vertex`` ends the run, with the name of the setting in its form."""
        is_ccm = self.resources[vertex].declared.form.is_ccm
        return f"{self.refs[vertex]} failed and {'fail_on_error' if is_ccm else 'fail_fast'} is set"

    def compare(self, graph: Graph) -> TableChange:
        """Compare ``graph`` with the graph in force, which stays in force. May be called in a thread.

        In ``graph``, equal resources are replaced by those in force, which hold what they have observed: then the others
        take no memory.
        """
        change = TableChange(  # of copies: the table may change meanwhile
            graph,
            self._version,
            self._present.copy(),
            self._number.copy(),
            self._free.copy(),
            len(self.refs),
        )
        for ref, resource in graph.resources.items():
            self._compare_one(change, ref, resource)
        change.find_gone()
        topology = change.topology = Topology.of(graph, change.number, change.size)
        if self._monitor_only:  # in this mode, a bad health check must not block other resources
            topology.ends.clear()
            topology.ended_by.clear()
        return change

    def _compare_one(self, change: TableChange, ref: str, resource: Resource) -> None:
        vertex = change.number_of(ref)
        change.present[vertex] = None
        if vertex not in change.present_before:
            change.difference.added.append(vertex)
            change.fresh[vertex] = resource
            return
        known = self.resources[vertex]
        if known.declared.deferred is not None:
            change.moving[vertex] = known
        if not desires_the_same(known, resource):
            change.difference.changed.append(vertex)
            change.fresh[vertex] = resource
            return
        change.difference.kept.append(vertex)
        if known.declared.deferred is not resource.declared.deferred:
            change.deferred[vertex] = resource.declared.deferred
        elif known is not resource:
            change.graph.resources[ref] = known

    def is_current(self, change: TableChange) -> bool:
        """Whether `compare` would now find the same as ``change``."""
        resources = self.resources
        return change.version == self._version and all(
            resources[vertex] is known for vertex, known in change.moving.items()
        )

    def adopt(self, change: TableChange, running: Container[int] = ()) -> None:
        """Switch to the graph of ``change``, which is current. Takes time only for the vertices that differ.

        ``running`` are the vertices whose checks have not ended.
        """
        graph, difference = change.graph, change.difference
        self._version += 1
        for vertex, resource in change.fresh.items():
            if vertex < len(self.refs):
                self.refs[vertex], self.resources[vertex] = resource.ref, resource
            else:  # new numbers are in order
                self.refs.append(resource.ref)
                self.resources.append(resource)
                self.needs_job.append(1)
        for vertex, deferred in change.deferred.items():  # the values are equal now, but may differ later
            known = self.resources[vertex]
            declare(known, known.declared._replace(deferred=deferred))
        show_names(resource.ref for resource in change.fresh.values())
        self._number, self._free = change.number, change.free
        self._present = change.present
        self.present = self._present.keys()
        self.left_out = graph.left_out
        self.claimed = graph.claimed
        for vertex in (*difference.changed, *difference.added, *difference.gone):
            self._set_limits(vertex)
        for vertex in difference.absent:
            if vertex not in running:
                del self._number[self.refs[vertex]]
                self._free.append(vertex)

    def _set_limits(self, vertex: int) -> None:
        resource = self.resources[vertex]
        meta = resource.meta
        limits = self._usual if meta is DEFAULT_META else Limits.of(meta, noop=self._usual.noop)
        if not limits.noop and (group := group_of(resource)) is not None:
            limits = limits._replace(group=group)
        if resource.slot is not None:
            limits = limits._replace(slot=resource.slot)
        self.needs_job[vertex] = resource.needs_job or limits.group is not None
        self.limits.pop(vertex, None)
        if limits is not DEFAULT_LIMITS:
            self.limits[vertex] = limits


def made_by(loop: Resource) -> Collection[str]:
    """The refs of the resources that ``loop``, of the kind `LOOP`, makes; none while they are unknown."""
    from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415 - few manifests have such a loop

    return loop.made if isinstance(loop, DeferredLoop) else ()


def first_elements(vertex_table: VertexTable, change: TableChange) -> Collection[str]:
    """The refs that loops make in the graph of ``change``, and about which the graph in force knows nothing yet.

    Earlier runs may have had them: they are not new in the manifest.
    """
    loops = [vertex_table.resources[vertex] for vertex in change.difference.changed]
    unknown = [each.ref for each in loops if each.kind == LOOP and not made_by(each)]
    return {ref for loop in unknown for ref in made_by(change.graph.resources[loop])}
