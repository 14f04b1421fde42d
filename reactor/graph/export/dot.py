"""The graph in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reactor.graph.export.picture import Picture, Vertex, picture, printable, words
from reactor.graph.graph import EdgeKind, Graph

_EDGE_STYLES = {
    EdgeKind.REQUIRE: "style=solid",
    EdgeKind.SUBSCRIBE: "style=bold, penwidth=2.4",
    EdgeKind.AUTOMATIC: "style=dashed",
    EdgeKind.AFTER: "style=dotted",
    EdgeKind.NOTIFY: "style=dotted, arrowhead=empty",
}

_BORDERS = {"": "rounded,filled", "6 3": "rounded,filled,dashed", "2 3": "rounded,filled,dotted"}

_HEAD = """\
digraph reactor {
  rankdir=LR;
  node [shape=box, fontname="Helvetica,Arial,sans-serif", fontsize=11, margin="0.15,0.07"];
  edge [color="#59616d", arrowsize=0.7, fontname="Helvetica,Arial,sans-serif", fontsize=10];"""


def render(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """``graph`` as the text of a ``.dot`` file, with one vertex or edge per line.

    The refs are the names of the vertices.
    """
    return "\n".join(_lines(picture(graph, states))) + "\n"


def _lines(drawn: Picture) -> Iterator[str]:
    yield _HEAD
    names = [_identifier(number, vertex.ref) for number, vertex in enumerate(drawn.vertices)]
    for name, vertex in zip(names, drawn.vertices, strict=True):
        yield f"  {name} [{_attributes(vertex)}];"
    for arrow in drawn.arrows:
        yield f"  {names[arrow.first]} -> {names[arrow.second]} [{_EDGE_STYLES[arrow.kind]}];"
    if drawn.arrows:
        yield from _legend(drawn)
    yield "}"


def _attributes(vertex: Vertex) -> str:
    label = f"{_label(vertex.kind)}\\n{_label(vertex.name)}"
    if vertex.state:
        label += f"\\n[{words(vertex.state)}]"
    appearance = vertex.appearance
    tooltip = _label(printable(vertex.ref))
    style = (
        f'style="{_BORDERS[appearance.dashes]}", fillcolor="{appearance.fill}", color="{appearance.border}"'
    )
    return f'label="{label}", tooltip="{tooltip}", {style}'


def _legend(drawn: Picture) -> Iterator[str]:
    """The legend of the edge kinds in the picture. Its names contain no ``#``, so none of them is a ref."""
    yield "  subgraph cluster_legend {"
    yield '    label="legend"; fontname="Helvetica,Arial,sans-serif"; fontsize=10; color="#c3c8d0";'
    yield "    node [shape=point, width=0.06];"
    for kind in drawn.edge_kinds:
        yield f'    "legend {kind} 1" -> "legend {kind} 2" [label="{kind}", {_EDGE_STYLES[kind]}];'
    yield "  }"


def _identifier(number: int, ref: str) -> str:
    """The quoted ref. If characters had to be replaced, its number is added, so that no two are the same."""
    name = shown if (shown := printable(ref)) == ref else f"{shown} {number}"
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _label(text: str) -> str:
    """``text`` as a label, in which Graphviz also interprets backslashes and HTML entities."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
