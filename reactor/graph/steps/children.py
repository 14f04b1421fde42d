"""What a name may mean that no resource has, while a child manifest is still to be made: a resource within that."""

from __future__ import annotations

from reactor.graph.graph import EdgeKind
from reactor.graph.graph_builder import Edge, GraphBuilder
from reactor.resource.composite import Composite


def wait_for_missing_children(builder: GraphBuilder, edge: Edge) -> bool:
    """Let the owner of ``edge`` wait for each `apply` whose manifest is not there; return whether there is any.

    Once a manifest is made, it is loaded, and so is this one again: then the name is found, or is a problem. What makes the
    manifest can't wait for what is in it.
    """
    kind = EdgeKind.AFTER if edge.kind is EdgeKind.AFTER else EdgeKind.REQUIRE
    made = {*builder.relations(edge.owner).provides} if builder.is_sound(edge.owner) else set()
    found = [
        vertex for vertex in builder.managed if vertex != edge.owner and _is_missing(builder, vertex, made)
    ]
    for vertex in found:
        reason = f"{edge.reason}, which may be in {builder.refs[vertex]}"
        builder.connect(vertex, edge.owner, Edge(kind, reason, edge.owner, edge.path))
    return bool(found)


def _is_missing(builder: GraphBuilder, vertex: int, made: set[str]) -> bool:
    resource = builder.resources[vertex]
    return isinstance(resource, Composite) and resource.is_missing and resource.manifest_path not in made
