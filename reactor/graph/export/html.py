"""The graph as one HTML page that works offline. It can be panned, zoomed and searched, and shows properties."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from reactor.graph.export.colours import css_variables
from reactor.graph.export.folds import Box, Edges, Member, boxes, contracted, folds
from reactor.graph.export.json_graph import edges, nodes
from reactor.graph.export.picture import (
    WORST_FIRST,
    Arrow,
    Picture,
    Vertex,
    picture,
    printable,
    reduced,
    shortened,
)
from reactor.graph.export.svg import document, legend, summary
from reactor.graph.graph import Graph


def render(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """``graph`` as an HTML page. It loads no other files, and its content policy allows only its own script."""
    drawn = picture(graph, states)
    script = _asset("page.js")
    whole, overview = document(drawn, with_legend=False), _overview(graph, drawn)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_asset("page.html")).substitute(
        summary=summary(drawn),
        style=css_variables() + _asset("page.css"),
        picture=f'<div class="whole">\n{whole}</div>\n{overview.svg}',
        legend=_legend(drawn),
        hidden=_hidden(graph, drawn),
        data=_data(graph, states, overview.members),
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
    """A sentence about the edges that are not drawn."""
    count = graph.dag.number_of_edges() - len(drawn.arrows)
    return f"Edges not drawn because they follow from others: {count}. The lists have them." if count else ""


class _Overview(NamedTuple):
    """The folded picture as HTML, and the vertices in each of its boxes. Empty if nothing is folded."""

    svg: str
    members: list[list[int]]


def _overview(graph: Graph, drawn: Picture) -> _Overview:
    places = (resource.declared.place for resource in graph.resources.values())
    found = folds(
        [
            Member(vertex.ref, vertex.kind, vertex.name, place.file if place else "")
            for vertex, place in zip(drawn.vertices, places, strict=True)
        ]
    )
    outgoing: Edges = [{} for _ in drawn.vertices]
    for first, second, kind in drawn.arrows:
        outgoing[first][second] = kind
    boxed = boxes(found, outgoing, ())
    if not any(box.fold for box in boxed):
        return _Overview("", [])
    edges = reduced(contracted(boxed, outgoing))
    arrows = [
        Arrow(first, second, kind) for first, seconds in enumerate(edges) for second, kind in seconds.items()
    ]
    folded = Picture([_folded(drawn, box) for box in boxed], arrows)
    svg = f'<div class="overview">\n{document(folded, with_legend=False)}</div>\n'
    return _Overview(svg, [box.members for box in boxed])


def _folded(drawn: Picture, box: Box) -> Vertex:
    """The vertex to draw for a box: the resource, or the fold with the number of its members and their worst state."""
    members = [drawn.vertices[number] for number in box.members]
    if box.fold is None:
        return members[0]
    states = {member.state for member in members}
    state = next((state for state in WORST_FIRST if state in states), None)
    name = printable(box.fold.label) or f"{printable(box.fold.kind)} resources"
    count = f"{printable(box.fold.kind)} \N{MULTIPLICATION SIGN} {len(members)}"
    return Vertex(f"{box.fold.name}: {len(members)} resources", count, name, state)


def _data(graph: Graph, states: Mapping[str, str] | None, overview: list[list[int]]) -> str:
    """The data of the script, as JSON that can't end the HTML element which contains it."""
    number = {ref: vertex for vertex, ref in enumerate(graph.refs)}
    data = {
        "nodes": [
            node | {"place": _place(node["place"]), "properties": shortened(node["properties"])}
            for node in nodes(graph, states)
        ],
        "edges": [edge | {"from": number[edge["from"]], "to": number[edge["to"]]} for edge in edges(graph)],
        "overview": overview,
    }
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _place(place: dict[str, Any] | None) -> str | None:
    return f"{place['file']}:{place['line']}:{place['column']}" if place else None
