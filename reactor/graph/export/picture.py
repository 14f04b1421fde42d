"""The common parts of all pictures of a graph: vertices and edges, the order of states, and dashes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from reactor.graph.export.colours import PLAIN, STATES, Appearance
from reactor.graph.graph import REFRESHING, WEAK, EdgeKind, Graph
from reactor.graph.topology import topological_order
from reactor.resource.base import Resource
from reactor.resource.redaction import MASK, redacted

LARGEST = 2000
"""The largest number of vertices for which edges are reduced.

The reduction needs one bit per pair of vertices, and larger pictures are not read.
"""

Edges = list[dict[int, EdgeKind]]
"""For each vertex, its successors and the kinds of the edges to them."""


def reduced(edges: Edges) -> Edges:
    """The edges of a DAG without redundant ones; above `LARGEST` vertices, all edges.

    An ``after`` edge is dropped if another path leads there, a strong edge if another path of strong edges does. So
    the order and the requirements can still be read. ``subscribe`` and ``notify`` edges always stay.

    Two calls of `networkx.transitive_reduction`, of all edges and of the strong ones, give the same, and take 12 s for
    2,000 vertices where this takes 0.05 s.
    """
    if len(edges) > LARGEST:
        return edges
    order = topological_order(edges)
    position = {vertex: place for place, vertex in enumerate(order)}
    kept: Edges = [{} for _ in edges]
    reach, strong_reach = [0] * len(edges), [0] * len(edges)
    for vertex in reversed(order):
        # Nearest first: everything reachable through a later successor has then been seen.
        for second in sorted(edges[vertex], key=position.__getitem__):
            kind = edges[vertex][second]
            strong = kind not in WEAK
            if kind in REFRESHING or not (strong_reach if strong else reach)[vertex] >> second & 1:
                kept[vertex][second] = kind
            reach[vertex] |= reach[second] | 1 << second
            if strong:
                strong_reach[vertex] |= strong_reach[second] | 1 << second
    return kept


WORST_FIRST = ("failed", "blocked", "would_change", "changed", "ok", "skipped", "unknown")
"""The states, most important first."""

EDGE_DASHES = {
    EdgeKind.REQUIRE: "",
    EdgeKind.SUBSCRIBE: "",
    EdgeKind.AUTOMATIC: "7 4",
    EdgeKind.AFTER: "1.5 4",
    EdgeKind.NOTIFY: "1.5 4",
}
"""The dashes of each kind of edge, in the order of legends; ``subscribe`` is drawn bold."""

LONGEST = 4000
"""The longest string value of a property that a page shows, in characters."""

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Control characters, invisible ones and those that change the text direction: a name must not look like another one.

`ui/page/format.js` has the same for the page, where tabs and line feeds stay, and `reactor.resource.escaping` for terminals.
Here are also characters that XML can't hold."""


class Vertex(NamedTuple):
    """One resource of a picture. ``name`` and ``kind`` contain only printable characters; ``ref`` is unchanged."""

    ref: str
    kind: str
    name: str
    state: str | None

    @property
    def appearance(self) -> Appearance:
        """The appearance of the vertex."""
        return STATES[self.state] if self.state else PLAIN


class Arrow(NamedTuple):
    """One edge of a picture, by vertex numbers."""

    first: int
    second: int
    kind: EdgeKind


@dataclass(frozen=True)
class Picture:
    """A graph to draw: vertices in the order of the manifest, and the reduced edges."""

    vertices: list[Vertex]
    arrows: list[Arrow]

    @property
    def edge_kinds(self) -> list[EdgeKind]:
        """The kinds of edges in the picture, for the legend."""
        present = {arrow.kind for arrow in self.arrows}
        return [kind for kind in EDGE_DASHES if kind in present]

    @property
    def states(self) -> list[str]:
        """The states in the picture, for the legend."""
        present = {vertex.state for vertex in self.vertices}
        return [state for state in STATES if state in present]


def picture(graph: Graph, states: Mapping[str, str] | None) -> Picture:
    """The picture of ``graph``. With ``states``, a ref that is not in it has the state ``unknown``."""
    number = {ref: vertex for vertex, ref in enumerate(graph.refs)}
    edges = [
        {number[second]: attributes["kind"] for second, attributes in graph.dag.succ[ref].items()}
        for ref in graph.refs
    ]
    return Picture(list(_vertices(graph, states)), list(_arrows(reduced(edges))))


def _vertices(graph: Graph, states: Mapping[str, str] | None) -> Iterator[Vertex]:
    for ref, resource in graph.resources.items():
        yield Vertex(ref, printable(resource.kind), printable(resource.name), state_of(ref, states))


def _arrows(edges: list[dict[int, EdgeKind]]) -> Iterator[Arrow]:
    for first, seconds in enumerate(edges):
        for second, kind in sorted(seconds.items()):
            yield Arrow(first, second, kind)


def state_of(ref: str, states: Mapping[str, str] | None) -> str | None:
    """The state to show for ``ref``: None without ``states``, ``unknown`` if the ref is not in it."""
    if states is None:
        return None
    state = states.get(ref, "unknown")
    return state if state in STATES else "unknown"


def words(state: str) -> str:
    """The state in words for people."""
    return state.replace("_", " ")


def printable(text: str) -> str:
    """``text`` on one line, with a replacement for each character that can't be shown or that XML forbids."""
    return _UNPRINTABLE.sub(
        "\N{REPLACEMENT CHARACTER}", text.replace("\n", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}")
    )


def properties(resource: Resource) -> dict[str, Any]:
    """The properties that the manifest sets for ``resource``, as values for JSON.

    The only place that decides what is shown.
    """
    properties = resource.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    masked = {name: MASK if name in resource.secrets else value for name, value in properties.items()}
    return {name: redacted(value) for name, value in masked.items()}


def shortened(value: Any) -> Any:
    """``value`` with long strings cut: a page with the content of every file would be slow."""
    match value:
        case str() if len(value) > LONGEST:
            return f"{value[:LONGEST]}\N{HORIZONTAL ELLIPSIS} ({len(value) - LONGEST} characters more)"
        case dict():
            return {key: shortened(item) for key, item in value.items()}
        case list():
            return [shortened(item) for item in value]
        case _:
            return value
