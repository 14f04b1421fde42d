"""The step for directories on which something is mounted later: what is seen there then is not theirs."""

from __future__ import annotations

from reactor.graph.draft import Draft
from reactor.resource.claim import MOUNT_POINTS, PATHS


def tell_covered(draft: Draft) -> None:
    """Tell each resource of a path that a resource which goes after it manages what is mounted there."""
    mounts: dict[str, list[int]] = {}
    for vertex, claim in draft.claims:
        if claim.space == MOUNT_POINTS:
            mounts.setdefault(draft.real_paths.of(claim.key), []).append(vertex)
    if not mounts:
        return
    for vertex, claim in draft.claims:
        above = mounts.get(draft.real_paths.of(claim.key)) if claim.space == PATHS else None
        if above and not _after(draft, vertex).isdisjoint(above):
            draft.resources[vertex].be_covered()


def _after(draft: Draft, vertex: int) -> set[int]:
    """All that goes after ``vertex``."""
    found: set[int] = set()
    stack = [vertex]
    while stack:
        new = draft.successors[stack.pop()].keys() - found
        found |= new
        stack.extend(new)
    return found
