"""The graph as a self-contained SVG picture, for light and dark screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape

from reactor.graph.export.colours import DARK, LIGHT, PLAIN, STATES, Theme
from reactor.graph.export.layout import (
    BOX_HEIGHT,
    FONT_SIZE,
    MARGIN,
    PADDING,
    WIDEST_BOX,
    Block,
    common_width,
    fitted,
    lay_out,
    width_of,
)
from reactor.graph.export.picture import EDGE_DASHES, Arrow, Picture, Vertex, picture, printable, words
from reactor.graph.export.routes import Router
from reactor.graph.graph import EdgeKind, Graph
from reactor.number_format import counted

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


_LEGEND_HEIGHT = 34


class LegendItem(NamedTuple):
    """One entry of the legend: SVG whose left edge, half-way up, is at the point (0, 0)."""

    drawing: str
    width: int


def render(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """``graph`` as an SVG document. Each vertex is a ``g`` with its number in ``data-vertex``."""
    return document(picture(graph, states), with_legend=True)


def document(drawn: Picture, *, with_legend: bool) -> str:
    """The SVG document of a picture."""
    return "\n".join(_lines(drawn, legend(drawn) if with_legend else [])) + "\n"


def summary(drawn: Picture) -> str:
    """How many resources and edges the picture has, in words."""
    return f"{counted(len(drawn.vertices), 'resource')}, {counted(len(drawn.arrows), 'edge')}"


def _lines(drawn: Picture, items: list[LegendItem]) -> Iterator[str]:
    box_width = common_width(_texts(drawn.vertices))
    outgoing: list[list[Arrow]] = [[] for _ in drawn.vertices]
    for arrow in drawn.arrows:
        outgoing[arrow.first].append(arrow)
    layout = lay_out([[arrow.second for arrow in arrows] for arrows in outgoing], box_width)
    width = max(layout.width, sum(item.width for item in items), WIDEST_BOX) + 2 * MARGIN
    height = layout.height + 2 * MARGIN + (_LEGEND_HEIGHT if items else 0)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{summary(drawn)}">'
    yield f"<style>\n{STYLESHEET}</style>"
    yield f"<defs>{''.join(map(_arrowhead, EdgeKind))}</defs>"
    yield '<rect class="page" width="100%" height="100%"/>'
    for x, y, block in layout.blocks:
        yield f'<g transform="translate({MARGIN + x:.1f},{MARGIN + y:.1f})">'
        yield from _block(drawn.vertices, outgoing, block, box_width)
        yield "</g>"
    x = MARGIN
    for item in items:
        yield f'<g transform="translate({x},{height - MARGIN:.0f})">{item.drawing}</g>'
        x += item.width
    yield "</svg>"


def _texts(vertices: list[Vertex]) -> Iterator[str]:
    """The lines of text in the boxes."""
    for vertex in vertices:
        yield vertex.name
        yield f"{vertex.kind}  {vertex.state or ''}"


def _block(
    vertices: list[Vertex], outgoing: list[list[Arrow]], block: Block, box_width: float
) -> Iterator[str]:
    router = Router(block, box_width)
    for number in sorted(block.spots):
        for arrow in outgoing[number]:
            yield _edge(arrow, router.path(arrow.first, arrow.second))
    for number, spot in sorted(block.spots.items()):
        place = f'transform="translate({spot.x:.1f},{spot.y:.1f})"'
        yield f"<g {place}{_box(number, vertices[number], box_width)}</g>"


def _edge(arrow: Arrow, path: str) -> str:
    ends = f'data-from="{arrow.first}" data-to="{arrow.second}"'
    return f'<path class="edge {arrow.kind}" {ends} d="{path}" marker-end="url(#head-{arrow.kind})"/>'


def _box(number: int, vertex: Vertex, box_width: float) -> str:
    room = box_width - 2 * PADDING
    name = escape(fitted(vertex.name, room))
    kind = escape(fitted(vertex.kind, room))
    state = (
        f'<text class="state" x="{box_width - PADDING:.0f}" y="16">{words(vertex.state)}</text>'
        if vertex.state
        else ""
    )
    return (
        f' class="vertex {vertex.state or "plain"}" data-vertex="{number}">'
        f"<title>{escape(printable(vertex.ref))}</title>"
        f'<rect width="{box_width:.0f}" height="{BOX_HEIGHT}" rx="7"/>'
        f'<text class="kind" x="{PADDING}" y="16">{kind}</text>{state}'
        f'<text class="name" x="{PADDING}" y="33">{name}</text>'
    )


def _arrowhead(kind: EdgeKind) -> str:
    shape = '<path d="M0,0L9,4L0,8L2.2,4Z"/>'
    placing = 'viewBox="0 0 9 8" refX="8.5" refY="4" markerWidth="9" markerHeight="8"'
    return f'<marker id="head-{kind}" class="head {kind}" {placing} markerUnits="userSpaceOnUse" orient="auto">{shape}</marker>'


def legend(drawn: Picture) -> list[LegendItem]:
    """The legend: the appearance of the kinds of edges and the states in the picture."""
    items = []
    for kind in drawn.edge_kinds:
        line = f'<path class="edge {kind}" d="M0,0H36" marker-end="url(#head-{kind})"/>'
        items.append(_legend_item(line, kind))
    for state in drawn.states:
        box = f'<g class="vertex {state}"><rect x="8" y="-8" width="28" height="16" rx="4"/></g>'
        items.append(_legend_item(box, words(state)))
    return items


def _legend_item(sample: str, text: str) -> LegendItem:
    drawing = f'{sample}<text class="legend" x="44" y="4">{text}</text>'
    return LegendItem(drawing, 62 + round(width_of(text)))
