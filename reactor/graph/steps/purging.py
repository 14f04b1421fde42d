"""The step for resources that remove what nobody manages: they are told what others do manage there."""

from __future__ import annotations

from reactor.graph.draft import Draft


def spare_managed(draft: Draft) -> None:
    """Tell each resource that purges a directory which paths in it are of other resources."""
    managed = [draft.resources[vertex] for vertex in draft.managed]
    for purging in managed:
        if (directory := purging.purges()) is not None:
            others = (other for other in managed if other is not purging)
            paths = (path for other in others for path in other.provides())
            purging.spare(frozenset(path for path in paths if path.startswith(f"{directory}/")))
