"""The graph as one HTML page that works offline: it pans, zooms, searches and shows a resource's properties."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

from reactor.graph.export.json_graph import edges, nodes
from reactor.graph.export.picture import Picture, picture, shortened
from reactor.graph.export.svg import document, legend, summary
from reactor.graph.graph import Graph


def render(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """``graph`` as an HTML page. It loads nothing, and its policy allows no script but its own."""
    drawn = picture(graph, states)
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_asset("page.html")).substitute(
        summary=summary(drawn),
        style=_asset("page.css"),
        picture=document(drawn, with_legend=False),
        legend=_legend(drawn),
        hidden=_hidden(graph, drawn),
        data=_data(graph, states),
        script=script,
        script_hash=f"sha256-{digest}",
    )


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _legend(drawn: Picture) -> str:
    return "".join(
        f'<svg width="{item.width}" height="22"><g transform="translate(2,11)">{item.drawing}</g></svg>'
        for item in legend(drawn)
    )


def _hidden(graph: Graph, drawn: Picture) -> str:
    """A word on the edges that are not drawn."""
    count = graph.dag.number_of_edges() - len(drawn.arrows)
    return f"Edges not drawn because they follow from others: {count}. The lists have them." if count else ""


def _data(graph: Graph, states: Mapping[str, str] | None) -> str:
    """What the script knows, as JSON that can't end the element it stands in."""
    number = {ref: vertex for vertex, ref in enumerate(graph.refs)}
    data = {
        "nodes": [
            node | {"place": _place(node["place"]), "properties": shortened(node["properties"])}
            for node in nodes(graph, states)
        ],
        "edges": [edge | {"from": number[edge["from"]], "to": number[edge["to"]]} for edge in edges(graph)],
    }
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _place(place: dict[str, Any] | None) -> str | None:
    return f"{place['file']}:{place['line']}:{place['column']}" if place else None
