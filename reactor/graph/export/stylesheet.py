"""The stylesheet of SVG and HTML pictures, made from the tables in `picture`: once for light, once for dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reactor.graph.export.layout import FONT_SIZE
from reactor.graph.export.picture import EDGE_DASHES, PLAIN, STATES
from reactor.graph.graph import EdgeKind

_SHAPES = f"""\
.edge {{ fill: none; stroke-width: 1.3; stroke-linecap: round; }}
.edge.subscribe {{ stroke-width: 2.6; }}
.head {{ stroke: none; }}
.vertex rect {{ stroke-width: 1.3; }}
.vertex.failed rect {{ stroke-width: 2.6; }}
.name {{ font: {FONT_SIZE}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
.kind, .state, .legend {{ font: 11px system-ui, "DejaVu Sans", Arial, sans-serif; }}
.state {{ font-weight: bold; text-anchor: end; }}
"""


class _Ink(NamedTuple):
    """The colours of everything except boxes."""

    page: str
    text: str
    faint: str
    edges: dict[EdgeKind, str]


_LIGHT = _Ink(
    "#ffffff",
    "#1b1f24",
    "#5c6570",
    {
        EdgeKind.REQUIRE: "#6a7482",
        EdgeKind.SUBSCRIBE: "#2563c9",
        EdgeKind.AUTOMATIC: "#8a94a2",
        EdgeKind.AFTER: "#8a94a2",
        EdgeKind.NOTIFY: "#8a94a2",
    },
)
_DARK = _Ink(
    "#14171c",
    "#e4e8ee",
    "#9aa4b1",
    {
        EdgeKind.REQUIRE: "#98a3b2",
        EdgeKind.SUBSCRIBE: "#6ea3f5",
        EdgeKind.AUTOMATIC: "#768191",
        EdgeKind.AFTER: "#768191",
        EdgeKind.NOTIFY: "#768191",
    },
)


def _stylesheet() -> str:
    """Plain rules without variables, because some programs that show SVG do not support them."""
    looks = {"plain": PLAIN, **STATES}
    light = {state: (look.fill, look.border) for state, look in looks.items()}
    dark = {state: (look.dark_fill, look.dark_border) for state, look in looks.items()}
    dashes = [f".edge.{kind} {{ stroke-dasharray: {dash}; }}" for kind, dash in EDGE_DASHES.items() if dash]
    dashes += [
        f".vertex.{state} rect {{ stroke-dasharray: {look.dashes}; }}"
        for state, look in looks.items()
        if look.dashes
    ]
    at_night = "\n".join(["@media (prefers-color-scheme: dark) {", *_colours(_DARK, dark), "}"])
    return _SHAPES + "\n".join([*dashes, *_colours(_LIGHT, light), at_night]) + "\n"


def _colours(ink: _Ink, boxes: dict[str, tuple[str, str]]) -> Iterator[str]:
    yield f".page {{ fill: {ink.page}; }}"
    yield f".name {{ fill: {ink.text}; }}"
    yield f".kind, .legend {{ fill: {ink.faint}; }}"
    for kind, colour in ink.edges.items():
        yield f".edge.{kind} {{ stroke: {colour}; }} .head.{kind} {{ fill: {colour}; }}"
    for state, (fill, border) in boxes.items():
        yield f".vertex.{state} rect {{ fill: {fill}; stroke: {border}; }} .{state} .state {{ fill: {border}; }}"


STYLESHEET = _stylesheet()
"""The rules for a picture, for use in a ``style`` element."""
