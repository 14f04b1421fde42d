"""The step for resources that purge a directory: it finds the paths there that other resources manage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactor.graph.graph_builder import GraphBuilder
from reactor.resource.declared import declare
from reactor.resource.real_paths import RealPaths


def find_managed_below(builder: GraphBuilder) -> None:
    """Record for each resource that purges a directory which paths in it other resources provide."""
    for purging in builder.managed:
        if (directory := builder.relations(purging).purges) is None:
            continue
        others = (other for other in builder.managed if other != purging)
        paths = (path for other in others for path in builder.relations(other).provides)
        managed = frozenset(_named_below(builder.real_paths, f"{directory}/", paths))
        resource = builder.resources[purging]
        declare(resource, resource.declared._replace(managed_paths=managed))


def _named_below(real: RealPaths, directory: str, paths: Iterable[str]) -> Iterator[str]:
    """Those of ``paths`` that are in ``directory``, which ends with a slash, by the names that they have from there."""
    really = f"{real.of(directory[:-1])}/"
    for path in paths:
        if path.startswith(directory):
            yield path
        elif path.startswith("/") and (there := real.of(path)).startswith(really):
            yield f"{directory}{there.removeprefix(really)}"
