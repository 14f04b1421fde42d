"""The step for directories on which a later resource mounts a file system: what is seen there then belongs to that."""

from __future__ import annotations

from reactor.graph.graph_builder import GraphBuilder
from reactor.resource.claim import MOUNT_POINTS, PATHS
from reactor.resource.declared import declare


def find_covered(builder: GraphBuilder) -> None:
    """Record for each resource of a path that a resource after it mounts a file system there."""
    mounts: dict[str, list[int]] = {}
    for vertex, claim in builder.claims:
        if claim.space == MOUNT_POINTS:
            mounts.setdefault(builder.real_paths.of(claim.key), []).append(vertex)
    if not mounts:
        return
    for vertex, claim in builder.claims:
        above = mounts.get(builder.real_paths.of(claim.key)) if claim.space == PATHS else None
        if above and not _after(builder, vertex).isdisjoint(above):
            resource = builder.resources[vertex]
            declare(resource, resource.declared._replace(is_covered=True))


def _after(builder: GraphBuilder, vertex: int) -> set[int]:
    """All that goes after ``vertex``."""
    found: set[int] = set()
    stack = [vertex]
    while stack:
        new = builder.successors[stack.pop()].keys() - found
        found |= new
        stack.extend(new)
    return found
