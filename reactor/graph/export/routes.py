"""How the edges of a picture run: smooth, left to right, and around the boxes in between."""

from __future__ import annotations

from collections.abc import Iterator

from reactor.graph.export.layout import BOX_HEIGHT, GUTTER, Block, Spot

_CLEARANCE = 6
_RADIUS = 10
_LANES = 5

Point = tuple[float, float]


def route(block: Block, first: int, second: int, box_width: float) -> str:
    """The edge between two boxes of a block as an SVG path, in the block's own coordinates."""
    start, end = block.spots[first], block.spots[second]
    if start.band == end.band:
        return _curve(list(_stations(block, start, end, box_width)))
    return _rounded(_detour(block, start, end, box_width))


def _stations(block: Block, start: Spot, end: Spot, box_width: float) -> Iterator[Point]:
    """Where the edge leaves and enters the gutters: it passes each column between where nothing is in the way."""
    x, y = start.x + box_width, start.y + BOX_HEIGHT / 2
    goal_x, goal_y = end.x, end.y + BOX_HEIGHT / 2
    yield x, y
    slope = (goal_y - y) / (goal_x - x)
    for column in range(start.column + 1, end.column):
        left = start.x + (column - start.column) * (box_width + GUTTER)
        boxes = [block.spots[vertex].y for vertex in block.columns[column]]
        lane = _free_lane(boxes, y + slope * (left + box_width / 2 - x))
        yield left, lane
        yield left + box_width, lane
    yield goal_x, goal_y


def _free_lane(boxes: list[float], wanted: float) -> float:
    """The height nearest to ``wanted`` where none of the boxes, given by their tops from above, is in the way."""
    edges = [top + offset for top in boxes for offset in (-_CLEARANCE, BOX_HEIGHT + _CLEARANCE)]
    bounds = [float("-inf"), *edges, float("inf")]
    lanes = zip(bounds[::2], bounds[1::2], strict=True)
    return min((min(max(wanted, low), high) for low, high in lanes), key=lambda lane: abs(lane - wanted))


def _curve(stations: list[Point]) -> str:
    """Curves through the gutters, level where they begin and end; straight lines past the columns."""
    parts = [f"M{_at(stations[0])}"]
    for number in range(1, len(stations)):
        (x, y), (next_x, next_y) = stations[number - 1], stations[number]
        if y == next_y:
            parts.append(f"H{_short(next_x)}")
        else:
            middle = (x + next_x) / 2
            parts.append(f"C{_at((middle, y))} {_at((middle, next_y))} {_at((next_x, next_y))}")
    return "".join(parts)


def _detour(block: Block, start: Spot, end: Spot, box_width: float) -> list[Point]:
    """The corners of a way to a later band: down a gutter, along above that band, and down a gutter again.

    All columns of a block stand in one grid, so a gutter is free from the first band to the last.
    """
    out = start.x + box_width + GUTTER * _lane(start.column)
    back = end.x - GUTTER * _lane(end.column)
    above = block.tops[end.band] - (block.tops[end.band] - block.bottoms[end.band - 1]) * _lane(
        start.column + end.column
    )
    y, goal_y = start.y + BOX_HEIGHT / 2, end.y + BOX_HEIGHT / 2
    return [(start.x + box_width, y), (out, y), (out, above), (back, above), (back, goal_y), (end.x, goal_y)]


def _lane(number: int) -> float:
    """One of a few lanes in a gap, as a share of its width: edges side by side, not on top of each other."""
    return 0.3 + 0.4 * (number % _LANES) / (_LANES - 1)


def _rounded(corners: list[Point]) -> str:
    parts = [f"M{_at(corners[0])}"]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        parts.append(f"L{_at(_towards(corner, before))}Q{_at(corner)} {_at(_towards(corner, after))}")
    return "".join(parts) + f"L{_at(corners[-1])}"


def _towards(corner: Point, other: Point) -> Point:
    """The point on the way from ``corner`` to ``other`` where the rounding of the corner ends."""
    distance = abs(other[0] - corner[0]) + abs(other[1] - corner[1])
    share = min(_RADIUS / distance, 0.5) if distance else 0.0
    return corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share


def _at(point: Point) -> str:
    return f"{_short(point[0])},{_short(point[1])}"


def _short(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")
