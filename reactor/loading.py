"""From a manifest file to a graph that may run: the one way there, for every command."""

from __future__ import annotations

from dataclasses import dataclass

from reactor.graph.build import build
from reactor.graph.graph import Graph
from reactor.manifest.document import Settings
from reactor.manifest.manifest import read_manifest
from reactor.resource.collector import collector_paused
from reactor.resource.diagnostic import Diagnostic, ManifestError


@dataclass(frozen=True, slots=True)
class Program:
    """What a valid manifest comes to. ``pre_message`` and ``post_message`` are for people, around a run."""

    path: str
    graph: Graph
    settings: Settings
    pre_message: str | None = None
    post_message: str | None = None


def load(path: str) -> Program:
    """Read, bind and connect the manifest at ``path``. Touches nothing else on the host.

    Raises ManifestError with all problems of the manifest, in the order of their places.
    """
    with collector_paused():
        manifest, problems = read_manifest(path)
        graph, conflicts = build(
            manifest.resources,
            ordering=manifest.settings.ordering,
            locate=manifest.locate,
            wrecks=manifest.wrecks,
            broken=manifest.broken,
        )
    if problems or conflicts:
        raise ManifestError(sorted([*problems, *conflicts], key=_position))
    return Program(path, graph, manifest.settings, manifest.pre_message, manifest.post_message)


def _position(problem: Diagnostic) -> tuple[str, int, int]:
    return problem.place or ("", 0, 0)
