"""The graph as a Mermaid flowchart, which code hosting sites draw inside Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reactor.graph.export.colours import STATES
from reactor.graph.export.picture import EDGE_DASHES, Arrow, Picture, Vertex, picture, words
from reactor.graph.graph import EdgeKind, Graph

_LINKS = {
    EdgeKind.REQUIRE: "-->",
    EdgeKind.SUBSCRIBE: "==>",
    EdgeKind.AUTOMATIC: "-.->",
    EdgeKind.AFTER: "-.->",
    EdgeKind.NOTIFY: "-.->",
}

_SPECIAL = re.compile(r"[^\w /.,@+-]", re.ASCII)
"""Characters that Mermaid might interpret. Non-ASCII letters match too, which does not change their appearance."""


def render(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """``graph`` as a Mermaid flowchart. Vertices are ``v0``, ``v1`` ... in the order of the manifest."""
    return "\n".join(_lines(picture(graph, states))) + "\n"


def _lines(drawn: Picture) -> Iterator[str]:
    yield "flowchart LR"
    for number, vertex in enumerate(drawn.vertices):
        yield f'  v{number}["{_label(vertex)}"]' + (f":::{vertex.state}" if vertex.state else "")
    arrows = [*drawn.arrows, *_legend_arrows(drawn)]
    for arrow in drawn.arrows:
        yield f"  v{arrow.first} {_LINKS[arrow.kind]} v{arrow.second}"
    if drawn.arrows:
        yield "  subgraph legend"
        for arrow in arrows[len(drawn.arrows) :]:
            yield f'    v{arrow.first}(( )) {_LINKS[arrow.kind]}|"{arrow.kind}"| v{arrow.second}(( ))'
        yield "  end"
    yield from _styles(drawn, arrows)


def _legend_arrows(drawn: Picture) -> list[Arrow]:
    number = len(drawn.vertices)
    return [Arrow(number + 2 * n, number + 2 * n + 1, kind) for n, kind in enumerate(drawn.edge_kinds)]


def _styles(drawn: Picture, arrows: list[Arrow]) -> Iterator[str]:
    for kind in (EdgeKind.AUTOMATIC, EdgeKind.AFTER, EdgeKind.NOTIFY):
        if links := [str(number) for number, arrow in enumerate(arrows) if arrow.kind is kind]:
            yield f"  linkStyle {','.join(links)} stroke-dasharray:{EDGE_DASHES[kind]}"
    for state in drawn.states:
        appearance = STATES[state]
        dashes = f",stroke-dasharray:{appearance.dashes}" if appearance.dashes else ""
        yield f"  classDef {state} fill:{appearance.fill},stroke:{appearance.border},color:#1b1f24{dashes}"


def _label(vertex: Vertex) -> str:
    lines = [vertex.kind, vertex.name, *([f"[{words(vertex.state)}]"] if vertex.state else [])]
    return "<br/>".join(_SPECIAL.sub(lambda found: f"#{ord(found[0])};", line) for line in lines)
