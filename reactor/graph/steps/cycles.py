"""The step that looks for cycles, and shows a short one of each knot."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from reactor.errors import Place
from reactor.graph.digraph import Successors, tangled
from reactor.graph.graph import EdgeKind
from reactor.graph.graph_builder import Edge, GraphBuilder
from reactor.graph.steps.ordering import ORDERS
from reactor.resource.diagnostic import Diagnostic

# Automatic edges are missing here: they are added later, and never close a cycle.
_VERBS = {
    EdgeKind.AFTER: "comes after",
    EdgeKind.NOTIFY: "hears of",
    EdgeKind.REQUIRE: "requires",
    EdgeKind.SUBSCRIBE: "subscribes to",
}

_SEARCH_LIMIT = 1_000_000
"""Vertices to visit in one knot, well under a second. In a knot of over 1,000 the cycle may be a longer one."""

_SHOWN_AT_EACH_END = 6
"""Edges of a long cycle."""


def report_cycles(builder: GraphBuilder) -> None:
    """Report a shortest cycle of every set of resources that wait for each other."""
    left = tangled(builder.successors)
    if not left:
        return
    import networkx as nx  # noqa: PLC0415 - only a manifest with a cycle pays for it

    residue: nx.DiGraph[int] = nx.DiGraph()
    residue.add_edges_from(
        (first, second) for first in left for second in builder.successors[first] if second in left
    )
    knots = [sorted(knot) for knot in nx.strongly_connected_components(residue) if len(knot) > 1]
    for knot in sorted(knots):
        builder.diagnostics.append(_report(builder, _shortest_cycle(builder.successors, knot)))


def _shortest_cycle(successors: Successors, knot: list[int]) -> list[int]:
    """The vertices of a shortest cycle in a strongly connected ``knot``, the lowest number first.

    Every cycle has an edge that leads to a lower number, so it is enough to start where such edges end.
    """
    inside = set(knot)
    ends = {second for first in knot for second in successors[first] if second < first and second in inside}
    starts = sorted(ends)[: max(1, _SEARCH_LIMIT // len(knot))]
    cycle = min((_cycle_through(start, successors, inside) for start in starts), key=len)
    lowest = cycle.index(min(cycle))
    return cycle[lowest:] + cycle[:lowest]


def _cycle_through(start: int, successors: Successors, inside: set[int]) -> list[int]:
    """The shortest way from ``start`` back to it, breadth first. There is one: ``inside`` is a knot."""
    came_from = {start: start}
    queue = deque([start])
    while start not in successors[vertex := queue.popleft()]:
        for second in successors[vertex]:
            if second in inside and second not in came_from:
                came_from[second] = vertex
                queue.append(second)
    way = [vertex]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _report(builder: GraphBuilder, cycle: list[int]) -> Diagnostic:
    steps = _steps(builder, cycle)
    notes = _notes(builder, steps[::-1])
    hint = "take one of these references away"
    if any(step.edge.reason in ORDERS.values() for step in steps):
        hint += ", or change the order of the resources, or set 'ordering: graph' in the settings"
    message = f"these {len(steps)} resources wait for each other in a circle, so none can go first"
    return Diagnostic("R0204", message, notes[0][1], hint, notes)


class _Step(NamedTuple):
    """``second`` waits for ``first``, because of ``edge``."""

    first: int
    second: int
    edge: Edge


def _steps(builder: GraphBuilder, cycle: list[int]) -> list[_Step]:
    """The edges of ``cycle``; a stretch that is only the order of the manifest is one step, however long."""
    steps: list[_Step] = []
    for first, second in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        edge = builder.successors[first][second]
        is_order = edge.reason in ORDERS.values()
        continues = is_order and bool(steps) and edge.reason == steps[-1].edge.reason
        steps.append(_Step(steps.pop().first if continues else first, second, edge))
    return steps


def _notes(builder: GraphBuilder, steps: list[_Step]) -> tuple[tuple[str, Place | None], ...]:
    """Both ends of a long way round: nobody reads thousands of edges, and any of those shown can be taken away."""
    left_out = len(steps) - 2 * _SHOWN_AT_EACH_END
    if left_out <= 1:
        return tuple(_note(builder, step) for step in steps)
    first = [_note(builder, step) for step in steps[:_SHOWN_AT_EACH_END]]
    last = [_note(builder, step) for step in steps[-_SHOWN_AT_EACH_END:]]
    return (*first, (f"and so on: {left_out} more are not shown", None), *last)


def _note(builder: GraphBuilder, step: _Step) -> tuple[str, Place | None]:
    first, second, edge = step
    text = f"{builder.refs[second]} {_VERBS[edge.kind]} {builder.refs[first]} ({edge.reason})"
    return text, builder.locate(edge.owner, edge.path)
