"""Where everything stands in the picture of the page. A program of its own, so that drawing never holds up a repair.

It reads what `reactor.ui.drawing` writes: ``vertices``, each ``[ref, kind, name]``, and ``edges``, each ``[first,
second, kind]`` by number. It answers with the part of ``GET /graph`` that only a new generation changes, less its
opening brace. ``docs/live-page.md`` describes that.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from reactor.graph.export.layout import BOX_HEIGHT, MARGIN, Block, common_width, lay_out
from reactor.graph.export.picture import printable
from reactor.graph.export.reduction import reduced
from reactor.graph.export.routes import Router
from reactor.graph.graph import EdgeKind

_NICENESS = 10

Json = dict[str, Any]


def scene(vertices: list[list[str]], edges: list[list[Any]]) -> Json:
    """The size of the picture, its boxes and its edges; those that follow from others are left out."""
    outgoing: list[dict[int, EdgeKind]] = [{} for _ in vertices]
    for first, second, kind in edges:
        outgoing[first][second] = EdgeKind(kind)
    outgoing = reduced(outgoing)
    names = [(printable(kind), printable(name)) for _, kind, name in vertices]
    box_width = common_width(text for pair in names for text in pair)
    layout = lay_out(outgoing, box_width)
    boxes: list[Json] = [{} for _ in vertices]
    ways: list[Json] = []
    for left, top, unmoved in layout.blocks:
        block = _moved(unmoved, left + MARGIN, top + MARGIN)
        router = Router(block, box_width)
        for number, spot in sorted(block.spots.items()):
            ref, (kind, name) = vertices[number][0], names[number]
            place = {
                "x": round(spot.x, 1),
                "y": round(spot.y, 1),
                "width": box_width,
                "height": BOX_HEIGHT,
            }
            boxes[number] = {"ref": ref, "kind": kind, "name": name, **place}
            ways += _ways(vertices, number, outgoing[number], router)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    return {"width": round(width), "height": round(height), "vertices": boxes, "edges": ways}


def _moved(block: Block, x: float, y: float) -> Block:
    """``block`` in the coordinates of the whole picture, where its corner is at ``x`` and ``y``."""
    spots = {number: replace(spot, x=spot.x + x, y=spot.y + y) for number, spot in block.spots.items()}
    tops, bottoms = ([height + y for height in heights] for heights in (block.tops, block.bottoms))
    return replace(block, spots=spots, tops=tops, bottoms=bottoms)


def _ways(
    vertices: list[list[str]], first: int, seconds: dict[int, EdgeKind], router: Router
) -> Iterator[Json]:
    for second, kind in sorted(seconds.items()):
        path = router.path(first, second)
        yield {"from": vertices[first][0], "to": vertices[second][0], "kind": str(kind), "path": path}


def main() -> None:
    """Read from stdin, write to stdout."""
    os.nice(_NICENESS)
    found = json.load(sys.stdin)
    text = json.dumps(scene(found["vertices"], found["edges"]), separators=(",", ":"))
    sys.stdout.write(text[1:])


if __name__ == "__main__":
    main()
