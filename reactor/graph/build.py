"""Builds the graph from resources, by named steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from reactor.graph.graph import Claimed, Edge, EdgeKind, Graph
from reactor.graph.graph_builder import BuilderEdge, Chain, GraphBuilder, Locate, nowhere
from reactor.graph.steps.automatic import add_automatic_edges
from reactor.graph.steps.claims import report_contradictions
from reactor.graph.steps.cycles import report_cycles
from reactor.graph.steps.managed_by_others import find_covered, find_managed_below, find_reserved
from reactor.graph.steps.members import add_members
from reactor.graph.steps.ordering import add_manifest_order, release_declined
from reactor.graph.steps.references import (
    add_deferred_loops,
    add_outputs,
    add_references,
    subscribe_loops,
)
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic
from reactor.resource.gc_control import gc_paused

Step = Callable[[GraphBuilder], None]

STEPS: tuple[Step, ...] = (
    report_contradictions,
    find_managed_below,
    find_reserved,
    add_references,
    add_outputs,
    add_deferred_loops,
    add_manifest_order,
    add_members,
    subscribe_loops,
    report_cycles,
    add_automatic_edges,
    release_declined,
    find_covered,
)
"""The steps, in this order. Cycles are reported before automatic edges are added, which never close one."""


def build(
    resources: Sequence[Resource],
    *,
    locate: Locate = nowhere,
    chains: Sequence[Chain] = (),
    placeholders: Sequence[Resource] = (),
    broken: frozenset[str] = frozenset(),
    unread: bool = False,
    external: Sequence[str] = (),
) -> tuple[Graph, list[Diagnostic]]:
    """The graph of ``resources``, and every problem found in it.

    With problems, the graph must not be run: it may lack edges, or have a cycle.

    - ``locate`` finds a property in the manifest; it is called only for problems.
    - ``chains`` are the numbers of resources that must run one after the other, because the manifest has them in this
      order.
    - ``placeholders`` are resources with invalid properties: only their names and references are used. Their numbers
      follow those of ``resources``.
    - ``broken`` are names that the manifest declares but that can't be used: a reference to one is no further problem.
    - ``unread``: a part of the manifest could not be read, so a reference to a missing name is no problem.
    - ``external`` are names that are declared elsewhere, or globs over such names: a reference to one is no problem,
      and gives no edge.

    Raises ValueError when two resources have the same ref.
    """
    with gc_paused():
        builder = GraphBuilder(
            resources,
            locate,
            chains=chains,
            placeholders=placeholders,
            broken=broken,
            unread=unread,
            external=external,
        )
        for step in STEPS:
            step(builder)
        graph = finished(builder)
        builder.free()
        return graph, builder.diagnostics


def finished(builder: GraphBuilder) -> Graph:
    """The graph of the resources and edges in ``builder``. Raises ValueError when two resources have the same ref."""
    # In steps, since one call of `dict` would keep other threads waiting, see `reactor.resource.gc_control.free`.
    by_ref = {ref: each for ref, each in zip(builder.refs, builder.resources, strict=True)}  # noqa: C416
    if len(by_ref) < len(builder.refs):
        raise ValueError("two resources have the same ref")
    refs = builder.refs
    edges = [
        Edge(first, refs[second], edge.kind, edge.reason, edge.quiet, edge.ends)
        for first, below in zip(refs, builder.successors, strict=True)
        for second, edge in below.items()
    ]
    claimed = Claimed.of(builder.claims, refs, builder.real_paths, builder.declined)
    return Graph(by_ref, edges, claimed=claimed)


_REASON = "what was done last is undone first"


def with_reversals(graph: Graph, reversals: Sequence[Resource]) -> Graph:
    """``graph`` with ``reversals``, one ``after`` the other, and with the edges that follow from all paths.

    None of their refs may be in ``graph``.
    """
    builder = GraphBuilder([*graph.resources.values(), *reversals])
    number = {ref: vertex for vertex, ref in enumerate(builder.refs)}
    for first, second, kind, reason, quiet, ends in graph.edges:
        edge = BuilderEdge(kind, reason, number[second], quiet=quiet, ends=ends)
        builder.connect(number[first], number[second], edge)
    for earlier, later in pairwise(range(len(graph.resources), len(builder.refs))):
        builder.connect(earlier, later, BuilderEdge(EdgeKind.AFTER, _REASON, later))
    add_automatic_edges(builder)
    return finished(builder)
