"""The stylesheet of SVG and HTML pictures, made from the tables in `colours`: once for light, once for dark."""

from __future__ import annotations

from collections.abc import Iterator

from reactor.graph.export.colours import DARK, LIGHT, PLAIN, STATES, Theme
from reactor.graph.export.layout import FONT_SIZE
from reactor.graph.export.picture import EDGE_DASHES

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


def _stylesheet() -> str:
    """Plain rules without variables, because some programs that show SVG do not support them."""
    appearances = {"plain": PLAIN, **STATES}
    light = {state: (appearance.fill, appearance.border) for state, appearance in appearances.items()}
    dark = {
        state: (appearance.dark_fill, appearance.dark_border) for state, appearance in appearances.items()
    }
    dashes = [f".edge.{kind} {{ stroke-dasharray: {dash}; }}" for kind, dash in EDGE_DASHES.items() if dash]
    dashes += [
        f".vertex.{state} rect {{ stroke-dasharray: {appearance.dashes}; }}"
        for state, appearance in appearances.items()
        if appearance.dashes
    ]
    at_night = "\n".join(["@media (prefers-color-scheme: dark) {", *_rules(DARK, dark), "}"])
    return _SHAPES + "\n".join([*dashes, *_rules(LIGHT, light), at_night]) + "\n"


def _rules(theme: Theme, boxes: dict[str, tuple[str, str]]) -> Iterator[str]:
    yield f".page {{ fill: {theme.page}; }}"
    yield f".name {{ fill: {theme.text}; }}"
    yield f".kind, .legend {{ fill: {theme.faint}; }}"
    for kind, colour in theme.edges.items():
        yield f".edge.{kind} {{ stroke: {colour}; }} .head.{kind} {{ fill: {colour}; }}"
    for state, (fill, border) in boxes.items():
        yield f".vertex.{state} rect {{ fill: {fill}; stroke: {border}; }} .{state} .state {{ fill: {border}; }}"


STYLESHEET = _stylesheet()
"""The rules for a picture, for use in a ``style`` element."""
