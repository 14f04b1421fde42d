"""The step for resources that remove what nobody manages: they are told what others do manage there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactor.graph.graph_builder import GraphBuilder
from reactor.resource.real_paths import RealPaths


def spare_managed(builder: GraphBuilder) -> None:
    """Tell each resource that purges a directory which paths in it are of other resources."""
    managed = [builder.resources[vertex] for vertex in builder.managed]
    for purging in managed:
        if (directory := purging.purged_directory()) is not None:
            others = (other for other in managed if other is not purging)
            paths = (path for other in others for path in other.provides())
            purging.exclude_from_purge(frozenset(_named_below(builder.real_paths, f"{directory}/", paths)))


def _named_below(real: RealPaths, directory: str, paths: Iterable[str]) -> Iterator[str]:
    """Those of ``paths`` that are in ``directory``, which ends with a slash, by the names that they have from there."""
    really = f"{real.of(directory[:-1])}/"
    for path in paths:
        if path.startswith(directory):
            yield path
        elif path.startswith("/") and (there := real.of(path)).startswith(really):
            yield f"{directory}{there.removeprefix(really)}"
