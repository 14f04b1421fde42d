"""What undoes resources that left the manifest joins the graph of those that stayed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reactor.graph.build import finished
from reactor.graph.graph import EdgeKind, Graph
from reactor.graph.graph_builder import Edge, GraphBuilder
from reactor.graph.steps.automatic import add_automatic_edges
from reactor.resource.base import Resource

_REASON = "what was done last is undone first"


def with_reversals(graph: Graph, reversals: Sequence[Resource]) -> Graph:
    """``graph`` and ``reversals``, one ``after`` the other, with the edges that follow from the paths of all.

    None of their refs may be in ``graph``.
    """
    builder = GraphBuilder([*graph.resources.values(), *reversals])
    number = {ref: vertex for vertex, ref in enumerate(builder.refs)}
    for first, second, kind, reason, quiet, ends in graph.edges:
        edge = Edge(kind, reason, number[second], quiet=quiet, ends=ends)
        builder.connect(number[first], number[second], edge)
    for earlier, later in pairwise(range(len(graph.resources), len(builder.refs))):
        builder.connect(earlier, later, Edge(EdgeKind.AFTER, _REASON, later))
    add_automatic_edges(builder)
    return finished(builder)
