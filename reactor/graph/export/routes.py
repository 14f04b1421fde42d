"""Routes the edges of a picture: smooth, left to right, and around the boxes in between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from reactor.graph.export.layout import BOX_HEIGHT, GUTTER, Block, Spot

_CLEARANCE = 6
_RADIUS = 10
_LANES = 5

Point = tuple[float, float]


class Router:
    """Finds the route of each edge of one block, in the block's own coordinates."""

    def __init__(self, block: Block, box_width: float) -> None:
        self._block = block
        self._box_width = box_width
        self._barred = [
            [
                block.spots[vertex].y + end
                for vertex in column
                for end in (-_CLEARANCE, BOX_HEIGHT + _CLEARANCE)
            ]
            for column in block.columns
        ]
        """For each column, from the top: the ranges of heights that its boxes block."""

    def path(self, first: int, second: int) -> str:
        """The edge between two boxes as an SVG path."""
        start, end = self._block.spots[first], self._block.spots[second]
        if start.band == end.band:
            return _curve(list(self._stations(start, end)))
        return _rounded(self._detour(start, end))

    def _stations(self, start: Spot, end: Spot) -> Iterator[Point]:
        """The points where the edge leaves and enters the gutters. It passes each column at a free height."""
        x, y = start.x + self._box_width, start.y + BOX_HEIGHT / 2
        goal_x, goal_y = end.x, end.y + BOX_HEIGHT / 2
        yield x, y
        slope = (goal_y - y) / (goal_x - x)
        for column in range(start.column + 1, end.column):
            left = start.x + (column - start.column) * (self._box_width + GUTTER)
            lane = self._free_lane(column, y + slope * (left + self._box_width / 2 - x))
            yield left, lane
            yield left + self._box_width, lane
        yield goal_x, goal_y

    def _free_lane(self, column: int, wanted: float) -> float:
        """The height nearest to ``wanted`` that no box of the column blocks."""
        barred = self._barred[column]
        place = bisect_left(barred, wanted)
        if place % 2 == 0:
            return wanted
        above, below = barred[place - 1], barred[place]
        return above if wanted - above <= below - wanted else below

    def _detour(self, start: Spot, end: Spot) -> list[Point]:
        """The corners of a route to a later band: down a gutter, along above that band, and down a gutter again.

        All columns of a block are in one grid, so a gutter is free from the first band to the last.
        """
        leave = start.x + self._box_width + GUTTER * _lane(start.column)
        enter = end.x - GUTTER * _lane(end.column)
        gap_top, gap_bottom = self._block.bottoms[end.band - 1], self._block.tops[end.band]
        along = gap_bottom - (gap_bottom - gap_top) * _lane(start.column + end.column)
        y, goal_y = start.y + BOX_HEIGHT / 2, end.y + BOX_HEIGHT / 2
        corners = [(leave, y), (leave, along), (enter, along), (enter, goal_y)]
        return [(start.x + self._box_width, y), *corners, (end.x, goal_y)]


def _curve(stations: list[Point]) -> str:
    """Curves through the gutters, horizontal at both ends; straight lines past the columns."""
    parts = [f"M{_at(stations[0])}"]
    for (x, y), (next_x, next_y) in pairwise(stations):
        if y == next_y:
            parts.append(f"H{_short(next_x)}")
        else:
            middle = (x + next_x) / 2
            parts.append(f"C{_at((middle, y))} {_at((middle, next_y))} {_at((next_x, next_y))}")
    return "".join(parts)


def _lane(number: int) -> float:
    """The position of one of a few lanes in a gap, as a share of its width. Lanes keep edges from overlapping."""
    return 0.3 + 0.4 * (number % _LANES) / (_LANES - 1)


def _rounded(corners: list[Point]) -> str:
    parts = [f"M{_at(corners[0])}"]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        parts.append(f"L{_at(_towards(corner, before))}Q{_at(corner)} {_at(_towards(corner, after))}")
    return "".join(parts) + f"L{_at(corners[-1])}"


def _towards(corner: Point, other: Point) -> Point:
    """The point between ``corner`` and ``other`` where the rounding of the corner ends."""
    distance = abs(other[0] - corner[0]) + abs(other[1] - corner[1])
    share = min(_RADIUS / distance, 0.5) if distance else 0.0
    return corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share


def _at(point: Point) -> str:
    return f"{_short(point[0])},{_short(point[1])}"


def _short(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")
