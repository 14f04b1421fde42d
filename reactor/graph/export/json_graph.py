"""The graph as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reactor.errors import Place
from reactor.graph.export.picture import properties, state_of
from reactor.graph.graph import Graph


def render(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """``graph`` as a JSON object with all ``nodes`` and ``edges``, in the order of the manifest.

    A node has ``ref``, ``kind``, ``name``, ``alias``, ``properties`` (those that the manifest sets), ``place``
    (``file``, ``line``, ``column``, or null) and ``state`` (null without ``states``). An edge has ``from``, ``to``,
    ``kind`` and ``reason``; ``from`` goes first.
    """
    return json.dumps({"nodes": nodes(graph, states), "edges": edges(graph)}, indent=2) + "\n"


def nodes(graph: Graph, states: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """The resources, each as a JSON object."""
    return [
        {
            "ref": ref,
            "kind": resource.kind,
            "name": resource.name,
            "alias": resource.alias,
            "properties": properties(resource),
            "place": _place(resource.declared.place),
            "state": state_of(ref, states),
        }
        for ref, resource in graph.resources.items()
    ]


def edges(graph: Graph) -> list[dict[str, Any]]:
    """The edges, each as a JSON object."""
    number = {ref: vertex for vertex, ref in enumerate(graph.refs)}
    return [
        {"from": first, "to": second, "kind": str(attributes["kind"]), "reason": attributes["reason"]}
        for first in graph.refs
        for second, attributes in sorted(graph.dag.succ[first].items(), key=lambda item: number[item[0]])
    ]


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else place._asdict()
