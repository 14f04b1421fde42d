"""The step that finds cycles, and reports a short one of each strongly connected component."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from reactor.errors import Place
from reactor.graph.graph import EdgeKind
from reactor.graph.graph_builder import BuilderEdge, GraphBuilder
from reactor.graph.steps.ordering import ORDERS
from reactor.graph.topology import Successors, tangled, topological_order
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import Diagnostic

# Automatic edges are missing here: they are added later, and never close a cycle.
_VERBS = {
    EdgeKind.AFTER: "comes after",
    EdgeKind.NOTIFY: "is notified by",
    EdgeKind.REQUIRE: "requires",
    EdgeKind.SUBSCRIBE: "subscribes to",
}

_SEARCH_LIMIT = 1_000_000
"""The most vertices to visit in one component; takes well under a second.

Above 1,000, the cycle may not be the shortest.
"""

_SHOWN_AT_EACH_END = 6
"""How many edges of a long cycle are shown at each end."""


def report_cycles(builder: GraphBuilder) -> None:
    """Report a shortest cycle of every set of resources that wait for each other."""
    left = tangled(builder.successors)
    if not left:
        return
    import networkx as nx  # noqa: PLC0415 - only a manifest with a cycle needs it

    residue: nx.DiGraph[int] = nx.DiGraph()
    residue.add_edges_from(
        (first, second) for first in left for second in builder.successors[first] if second in left
    )
    knots = [sorted(knot) for knot in nx.strongly_connected_components(residue) if len(knot) > 1]
    for knot in sorted(knots):
        builder.diagnostics.append(_report(builder, _shortest_cycle(builder.successors, knot)))


def _shortest_cycle(successors: Successors, knot: list[int]) -> list[int]:
    """The vertices of a shortest cycle in the strongly connected ``knot``, the lowest number first.

    Every cycle has an edge that leads to a lower number, so it is enough to start at the ends of such edges.
    """
    inside = set(knot)
    ends = {second for first in knot for second in successors[first] if second < first and second in inside}
    starts = sorted(ends)[: max(1, _SEARCH_LIMIT // len(knot))]
    cycle = min((_cycle_through(start, successors, inside) for start in starts), key=len)
    lowest = cycle.index(min(cycle))
    return cycle[lowest:] + cycle[:lowest]


def _cycle_through(start: int, successors: Successors, inside: set[int]) -> list[int]:
    """The shortest path from ``start`` back to it, breadth first.

    It exists, because ``inside`` is strongly connected.
    """
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
    hint = "remove one of these references"
    if any(step.edge.reason in ORDERS.values() for step in steps):
        hint += ", or change the order of the resources, or set 'ordering: graph' in the settings"
    message = f"these {len(steps)} resources form a dependency cycle, so none can go first"
    return Diagnostic("R0204", message, notes[0][1], hint, notes)


class _Step(NamedTuple):
    """``second`` waits for ``first`` because of ``edge``."""

    first: int
    second: int
    edge: BuilderEdge


def _steps(builder: GraphBuilder, cycle: list[int]) -> list[_Step]:
    """The edges of ``cycle``. A stretch that only follows the order of the manifest is one step, however long."""
    steps: list[_Step] = []
    for first, second in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        edge = builder.successors[first][second]
        is_order = edge.reason in ORDERS.values()
        continues = is_order and bool(steps) and edge.reason == steps[-1].edge.reason
        steps.append(_Step(steps.pop().first if continues else first, second, edge))
    return steps


def _notes(builder: GraphBuilder, steps: list[_Step]) -> tuple[tuple[str, Place | None], ...]:
    """The edges at both ends of a long cycle.

    Thousands are of no use, and removing any of those shown breaks the cycle.
    """
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


Pair = tuple[int, int]

_BATCH = 4096
"""Bits in one pass: half a kilobyte per vertex."""


def without_cycles(successors: Successors, wanted: Collection[Pair]) -> list[Pair]:
    """As many of ``wanted`` as can be added to the DAG of ``successors``; deterministic.

    Nearly always these are all pairs. One pass over the graph finds the pairs that could be on a cycle. Of these,
    first the pairs are added that agree with the order so far (given edges first, then the order of the manifest);
    then the others, one by one, if they close no cycle. If the graph already has a cycle, none of these is added.
    """
    if not wanted:
        return []
    everything = [list(seconds) for seconds in successors]
    for first, second in wanted:
        if second not in successors[first]:
            everything[first].append(second)
    contested = tangled(everything)
    kept = [pair for pair in wanted if not (pair[0] in contested and pair[1] in contested)]
    if contested:
        disputed = [pair for pair in wanted if pair[0] in contested and pair[1] in contested]
        kept += _settled(successors, disputed)
    return kept


def _settled(successors: Successors, disputed: Iterable[Pair]) -> list[Pair]:
    order = topological_order(successors)
    if len(order) < len(successors):
        return []
    position = {vertex: place for place, vertex in enumerate(order)}
    kept = [pair for pair in disputed if position[pair[0]] < position[pair[1]]]
    against = [pair for pair in disputed if position[pair[0]] > position[pair[1]]]
    joined = [list(seconds) for seconds in successors]
    for first, second in kept:
        joined[first].append(second)
    for first, second in _not_closing(joined, order, against):
        if not _reaches(joined, second, first):
            joined[first].append(second)
            kept.append((first, second))
    return kept


def _not_closing(successors: Successors, order: list[int], pairs: list[Pair]) -> list[Pair]:
    """The pairs that close no cycle, each considered alone; finds this for thousands of pairs in one pass.

    Each first vertex has one bit; every vertex collects the bits of all vertices that it leads to.
    """
    firsts = sorted({first for first, _ in pairs})
    harmless: set[Pair] = set()
    for start in range(0, len(firsts), _BATCH):
        bits = {first: 1 << bit for bit, first in enumerate(firsts[start : start + _BATCH])}
        leads_to = [0] * len(successors)
        for vertex in reversed(order):
            reached = bits.get(vertex, 0)
            for second in successors[vertex]:
                reached |= leads_to[second]
            leads_to[vertex] = reached
        harmless.update(pair for pair in pairs if pair[0] in bits and not leads_to[pair[1]] & bits[pair[0]])
    return [pair for pair in pairs if pair in harmless]


def _reaches(successors: Successors, start: int, goal: int) -> bool:
    seen = {start}
    stack = [start]
    while stack:
        for second in successors[stack.pop()]:
            if second == goal:
                return True
            if second not in seen:
                seen.add(second)
                stack.append(second)
    return False
