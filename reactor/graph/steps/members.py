"""The step for composites: the resources of a child manifest come before the `apply` resource they belong to."""

from __future__ import annotations

from reactor.graph.graph import EdgeKind
from reactor.graph.graph_builder import BuilderEdge, GraphBuilder
from reactor.resource.diagnostic import Diagnostic


def add_members(builder: GraphBuilder) -> None:
    """Put members before their composite, and let them wait for everything that it waits for.

    A composite has a lower number than its members. So if an `apply` is within another, the outer one has given its
    edges to the inner one before the inner one gives them to its own members. A composite that waits for one of its
    members is a problem: it would wait for itself.
    """
    if not (whole_of := members_by_whole(builder)):
        return
    before = _predecessors(builder, whole_of)
    for whole in whole_of:
        for first in within(whole, whole_of).intersection(before[whole]):
            before[whole].remove(first)
            builder.diagnostics.append(_problem(builder, whole, first))
    for whole, members in whole_of.items():
        for member in members:
            for first in before[whole]:
                edge = builder.successors[first][whole]
                kind = EdgeKind.AFTER if edge.kind is EdgeKind.AFTER else EdgeKind.REQUIRE
                builder.connect(first, member, edge._replace(kind=kind))
                if member in before:
                    before[member].append(first)
        for member in members:
            reason = f"{builder.refs[member]} belongs to {builder.refs[whole]}"
            builder.connect(member, whole, BuilderEdge(EdgeKind.NOTIFY, reason, whole))


def members_by_whole(builder: GraphBuilder) -> dict[int, list[int]]:
    """The members of each composite."""
    wholes = {
        vertex: members for vertex, each in enumerate(builder.resources) if (members := each.declared.members)
    }
    if not wholes:
        return {}
    number = {ref: vertex for vertex, ref in enumerate(builder.refs)}
    return {vertex: [number[ref] for ref in members] for vertex, members in wholes.items()}


def within(whole: int, members: dict[int, list[int]]) -> set[int]:
    """All members of ``whole``, and their members in turn."""
    found: set[int] = set()
    stack = [whole]
    while stack:
        inside = members.get(stack.pop(), ())
        found.update(inside)
        stack.extend(inside)
    return found


def _problem(builder: GraphBuilder, whole: int, first: int) -> Diagnostic:
    edge = builder.successors[first][whole]
    message = (
        f"{builder.refs[whole]} can't wait for {builder.refs[first]}, which belongs to it ({edge.reason})"
    )
    return Diagnostic("R0204", message, builder.locate(edge.owner, edge.path), "remove this reference")


def _predecessors(builder: GraphBuilder, wholes: dict[int, list[int]]) -> dict[int, list[int]]:
    before: dict[int, list[int]] = {whole: [] for whole in wholes}
    for first, below in enumerate(builder.successors):
        for second in before.keys() & below.keys():
            before[second].append(first)
    return before
