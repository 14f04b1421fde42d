"""The steps that record, for some resources, what other resources manage.

A purged directory keeps the managed paths below it; a directory that is a managed mount point is not replaced; a new
account without a number takes none that another account declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from reactor.graph.graph_builder import GraphBuilder
from reactor.resource.declared import declare
from reactor.resource.real_paths import RealPaths
from reactor.resource.relations import MOUNT_POINTS, PATHS


def find_managed_below(builder: GraphBuilder) -> None:
    """Record, for each resource that purges a directory, the paths in it that other resources provide."""
    for purging in builder.managed:
        if (directory := builder.relations(purging).purges) is None:
            continue
        others = (other for other in builder.managed if other != purging)
        paths = (path for other in others for path in builder.relations(other).provides)
        managed = frozenset(_named_below(builder.real_paths, f"{directory}/", paths))
        resource = builder.resources[purging]
        declare(resource, resource.declared._replace(managed_paths=managed))


def _named_below(real: RealPaths, directory: str, paths: Iterable[str]) -> Iterator[str]:
    """The ``paths`` in ``directory``, which ends with a slash, as paths that begin with ``directory``."""
    really = f"{real.of(directory[:-1])}/"
    for path in paths:
        if path.startswith(directory):
            yield path
        elif path.startswith("/") and (there := real.of(path)).startswith(really):
            yield f"{directory}{there.removeprefix(really)}"


def find_reserved(builder: GraphBuilder) -> None:
    """Record, for each resource that chooses a free key, such as a uid, the keys that other resources claim."""
    spaces = {vertex: chosen for vertex in builder.managed if (chosen := builder.relations(vertex).chooses)}
    if not spaces:
        return
    wanted = set().union(*spaces.values())
    every = [claim for claim in builder.claims.everything if claim.space in wanted]
    reserved = cache(lambda chosen: frozenset(claim.key for claim in every if claim.space in chosen))
    for vertex, chosen in spaces.items():
        resource = builder.resources[vertex]
        declare(resource, resource.declared._replace(reserved=reserved(chosen)))


def find_covered(builder: GraphBuilder) -> None:
    """Record, for each resource with a path, whether a later resource mounts a file system there."""
    mounts: dict[str, list[int]] = {}
    for claim in builder.claims.everything:
        if claim.space == MOUNT_POINTS:
            mounts.setdefault(builder.real_paths.of(claim.key), []).append(claim.vertex)
    if not mounts:
        return
    for claim in builder.claims.everything:
        above = mounts.get(builder.real_paths.of(claim.key)) if claim.space == PATHS else None
        if above and not _after(builder, claim.vertex).isdisjoint(above):
            resource = builder.resources[claim.vertex]
            declare(resource, resource.declared._replace(is_covered=True))


def _after(builder: GraphBuilder, vertex: int) -> set[int]:
    """All vertices that go after ``vertex``."""
    found: set[int] = set()
    stack = [vertex]
    while stack:
        new = builder.successors[stack.pop()].keys() - found
        found |= new
        stack.extend(new)
    return found
