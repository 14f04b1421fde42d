"""The step for directories on which something is mounted later: what is seen there then is not theirs."""

from __future__ import annotations

from reactor.graph.graph_builder import GraphBuilder
from reactor.resource.claim import MOUNT_POINTS, PATHS


def tell_covered(builder: GraphBuilder) -> None:
    """Tell each resource of a path that a resource which goes after it manages what is mounted there."""
    mounts: dict[str, list[int]] = {}
    for vertex, claim in builder.claims:
        if claim.space == MOUNT_POINTS:
            mounts.setdefault(builder.real_paths.of(claim.key), []).append(vertex)
    if not mounts:
        return
    for vertex, claim in builder.claims:
        above = mounts.get(builder.real_paths.of(claim.key)) if claim.space == PATHS else None
        if above and not _after(builder, vertex).isdisjoint(above):
            builder.resources[vertex].be_covered()


def _after(builder: GraphBuilder, vertex: int) -> set[int]:
    """All that goes after ``vertex``."""
    found: set[int] = set()
    stack = [vertex]
    while stack:
        new = builder.successors[stack.pop()].keys() - found
        found |= new
        stack.extend(new)
    return found
