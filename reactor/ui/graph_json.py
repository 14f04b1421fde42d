"""Lays out the graph of the page, in a separate process, so that the layout never delays a repair.

Its input comes from `reactor.ui.drawing`: ``vertices``, each ``[ref, kind, name, manifest]``; ``edges``, each ``[first,
second, kind]`` by number; and ``opened``, the open folds (null folds nothing). Its output is the part of ``GET /graph`` that
does not change within a generation, without the opening brace. ``docs/live-page.md`` describes it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from itertools import count
from typing import Any

from reactor.graph.export.folds import Box, Edges, Member, boxes, contracted, folds
from reactor.graph.export.layout import BOX_HEIGHT, MARGIN, Block, common_width, lay_out
from reactor.graph.export.picture import printable, reduced
from reactor.graph.export.routes import Router
from reactor.graph.graph import EdgeKind

_NICENESS = 10

Json = dict[str, Any]
Way = tuple[int, int, Json]
"""An edge between two boxes, by number, with its kind and path."""


def graph_json(vertices: list[Member], edges: list[list[Any]], opened: list[str] | None) -> Json:
    """The size of the layout, its boxes and its edges, without edges that follow from others."""
    outgoing: Edges = [{} for _ in vertices]
    for first, second, kind in edges:
        outgoing[first][second] = EdgeKind(kind)
    found = folds(vertices) if opened is not None else [[] for _ in vertices]
    boxed = boxes(found, outgoing, opened or ())
    shown = [_shown(vertices, box) for box in boxed]
    places, ways, size = _laid_out(shown, reduced(contracted(boxed, outgoing)))
    drawn: list[Json] = [{} for _ in vertices]
    folded: list[Json] = []
    for box, place in zip(boxed, places, strict=True):
        for number in box.members:
            drawn[number] = {
                "ref": vertices[number].ref,
                "kind": printable(vertices[number].kind),
                "name": printable(vertices[number].name),
                "folds": [fold.name for fold in found[number]],
                "box": None if box.fold is None else len(folded),
                **place,
            }
        if box.fold is not None:
            folded.append({"name": box.fold.name, "kind": box.fold.kind, "label": box.fold.label, **place})
    keys = _keys(vertices, boxed)
    drawn_edges = [{"from": keys[first], "to": keys[second], **way} for first, second, way in ways]
    return {**size, "vertices": drawn, "folds": folded, "edges": drawn_edges}


def _shown(vertices: list[Member], box: Box) -> tuple[str, str]:
    """The two lines of text in a box."""
    if box.fold is None:
        return printable(vertices[box.members[0]].kind), printable(vertices[box.members[0]].name)
    kind = printable(box.fold.kind)
    return f"{kind} x {len(box.members)}  00 failed, 00 blocked", printable(
        box.fold.label
    ) or f"{kind} resources"


def _keys(vertices: list[Member], boxed: list[Box]) -> list[str]:
    """The key of each box, for edges: the ref of a resource, or the number of a fold (no ref, as it has no ``#``)."""
    number = count()
    return [vertices[box.members[0]].ref if box.fold is None else f"fold {next(number)}" for box in boxed]


def _laid_out(shown: list[tuple[str, str]], outgoing: Edges) -> tuple[list[Json], list[Way], Json]:
    """The place of each box, the paths of the edges, and the size of the layout."""
    box_width = common_width(text for pair in shown for text in pair)
    layout = lay_out(outgoing, box_width)
    places: list[Json] = [{} for _ in shown]
    ways: list[Way] = []
    for left, top, unmoved in layout.blocks:
        block = _moved(unmoved, left + MARGIN, top + MARGIN)
        router = Router(block, box_width)
        for number, spot in sorted(block.spots.items()):
            corner = {"x": round(spot.x, 1), "y": round(spot.y, 1)}
            places[number] = {**corner, "width": box_width, "height": BOX_HEIGHT}
            for second, kind in sorted(outgoing[number].items()):
                way = {"kind": str(kind), "path": router.path(number, second)}
                ways.append((number, second, way))
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    return places, ways, {"width": round(width), "height": round(height)}


def _moved(block: Block, x: float, y: float) -> Block:
    """``block`` in the coordinates of the whole layout, with its upper left corner at ``x`` and ``y``."""
    spots = {number: replace(spot, x=spot.x + x, y=spot.y + y) for number, spot in block.spots.items()}
    tops, bottoms = ([height + y for height in heights] for heights in (block.tops, block.bottoms))
    return replace(block, spots=spots, tops=tops, bottoms=bottoms)


def main() -> None:
    """Read from stdin, write to stdout."""
    os.nice(_NICENESS)
    found = json.load(sys.stdin)
    vertices = [Member(*vertex) for vertex in found["vertices"]]
    text = json.dumps(graph_json(vertices, found["edges"], found["opened"]), separators=(",", ":"))
    sys.stdout.write(text[1:])


if __name__ == "__main__":
    main()
