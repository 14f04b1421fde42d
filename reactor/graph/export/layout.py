"""Places the boxes of a picture. All lengths are in pixels; all boxes have the same size."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from reactor.graph.topology import Successors, predecessors

FONT_SIZE = 12
_CELL = 7.3
"""The width of a character at `FONT_SIZE`: 0.6 of it in most fonts, plus a little for safety."""

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def width_of(text: str) -> float:
    """The width of ``text`` in pixels."""
    return sum(map(_cells, text)) * _CELL


def fitted(text: str, room: float) -> str:
    """``text``, shortened in the middle to fit into ``room`` pixels: its beginning and end distinguish paths."""
    if width_of(text) <= room:
        return text
    half = (room / _CELL - 1) / 2
    return _start(text, half) + _ELLIPSIS + _start(text[::-1], half)[::-1]


def _start(text: str, room: float) -> str:
    """As many characters from the start of ``text`` as fit into ``room`` cells."""
    for number, character in enumerate(text):
        room -= _cells(character)
        if room < 0:
            return text[:number]
    return text


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


Column = list[int]
"""Vertices from top to bottom."""

_SWEEPS = 8
_LEAST_ROWS = 20


def _networkx(successors: Successors) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(successors)))
    graph.add_edges_from((first, second) for first, seconds in enumerate(successors) for second in seconds)
    return graph


def components(successors: Successors) -> list[list[int]]:
    """Groups of connected vertices, each in ascending order. The vertices without any edge are one group, the last."""
    found = [sorted(group) for group in nx.weakly_connected_components(_networkx(successors))]
    alone = [vertex for group in found if len(group) == 1 for vertex in group]
    return [*(group for group in found if len(group) > 1), *([alone] if alone else [])]


def columns(group: Sequence[int], successors: Successors) -> list[Column]:
    """The columns of one group, from left to right: every edge leads to a later one.

    A layer that would make the picture much higher than wide is split into several columns.
    """
    local = {vertex: number for number, vertex in enumerate(group)}
    onwards = [sorted(local[second] for second in successors[vertex]) for vertex in group]
    back = predecessors(onwards)
    layers = _layers(onwards, back)
    _untangle(layers, onwards, back)
    rows = max(_LEAST_ROWS if any(onwards) else 1, math.isqrt(3 * len(group)))
    return [[group[number] for number in column] for layer in layers for column in _broken(layer, rows)]


def _layers(onwards: Successors, back: Successors) -> list[Column]:
    """Place each vertex one layer after its last predecessor, or without any, just before its first successor."""
    layer = [0] * len(onwards)
    for number, generation in enumerate(nx.topological_generations(_networkx(onwards))):
        for vertex in generation:
            layer[vertex] = number
    for vertex, seconds in enumerate(onwards):
        if not back[vertex] and seconds:
            layer[vertex] = min(layer[second] for second in seconds) - 1
    layers: list[Column] = [[] for _ in range(max(layer) + 1)]
    for vertex, number in enumerate(layer):
        layers[number].append(vertex)
    return layers


def _untangle(layers: list[Column], onwards: Successors, back: Successors) -> None:
    """Sort each layer by the heights of the neighbours to the left, then to the right, in turn: fewer edges cross."""
    height = [0.0] * len(onwards)
    for layer in layers:
        _level(layer, height)
    for sweep in range(_SWEEPS):
        neighbours, there = (onwards, reversed(layers)) if sweep % 2 else (back, iter(layers))
        for layer in there:
            for vertex in layer:
                if around := neighbours[vertex]:
                    height[vertex] = sum(height[other] for other in around) / len(around)
            layer.sort(key=height.__getitem__)
            _level(layer, height)


def _level(layer: Column, height: list[float]) -> None:
    """Set the heights of the vertices in a layer evenly between 0 and 1, in their order."""
    for place, vertex in enumerate(layer):
        height[vertex] = (place + 0.5) / len(layer)


def _broken(layer: Column, rows: int) -> list[Column]:
    """``layer`` split into as few columns of at most ``rows`` as possible.

    Vertices are dealt out to the columns in turn, so neighbours stay at about the same height.
    """
    count = math.ceil(len(layer) / rows)
    return [layer[number::count] for number in range(count)]


BOX_HEIGHT = 42
WIDEST_BOX = 260
PADDING = 12
"""Free space at the left and right of the text in a box."""

MARGIN = 28
"""Free space around the whole picture."""

GUTTER = 68
"""Free space between two columns, in which edges run."""

_NARROWEST_BOX = 110
_PITCH = BOX_HEIGHT + 18
_BAND_GAP = 46
_GROUP_GAP = 44
_ASPECT = 1.6
_NARROW = 1000
"""A block of at most this width is not split into bands: a window of the usual size shows it at nearly full size."""
_GAIN = 0.85
"""One more band must make the picture smaller by at least this factor."""
_RELAXATIONS = 6


@dataclass(frozen=True)
class Spot:
    """The place of one box: its upper left corner, and its column and band."""

    x: float
    y: float
    column: int
    band: int


@dataclass
class Block:
    """One group of connected boxes. Its columns are arranged in bands, like words in lines.

    ``columns`` are in reading order over all bands; ``tops`` and ``bottoms`` are the edges of the bands.
    """

    columns: list[Column]
    spots: dict[int, Spot]
    tops: list[float]
    bottoms: list[float]
    width: float

    @property
    def height(self) -> float:
        """The distance from the top of the first band to the bottom of the last."""
        return self.bottoms[-1]


@dataclass(frozen=True)
class Layout:
    """All blocks, each with its upper left corner, and the total size."""

    blocks: list[tuple[float, float, Block]]
    width: float
    height: float


def common_width(texts: Iterable[str]) -> int:
    """The width of all boxes: enough for the longest of ``texts``, up to a limit."""
    widest = max(map(width_of, texts), default=0)
    return round(min(max(widest, _NARROWEST_BOX) + 2 * PADDING, WIDEST_BOX))


def lay_out(successors: Successors, box_width: float) -> Layout:
    """A place for each vertex of a DAG, such that edges lead to the right or on to the next band."""
    backwards = predecessors(successors)
    blocks = [
        _block(columns(group, successors), successors, backwards, box_width)
        for group in components(successors)
    ]
    return _packed(blocks)


def _block(parts: list[Column], successors: Successors, backwards: Successors, box_width: float) -> Block:
    step = box_width + GUTTER
    per_band = _columns_per_band(parts, step)
    # Edges from one band to the next run around the outside.
    margin = GUTTER if len(parts) > per_band else 0
    block = Block(parts, {}, [], [], 2 * margin - GUTTER + step * min(per_band, len(parts)))
    top = 0.0
    for band, start in enumerate(range(0, len(parts), per_band)):
        line = parts[start : start + per_band]
        heights = _heights(line, successors, backwards)
        highest = min(heights.values())
        for place, column in enumerate(line):
            for vertex in column:
                y = top + heights[vertex] - highest
                block.spots[vertex] = Spot(margin + step * place, y, start + place, band)
        block.tops.append(top)
        block.bottoms.append(top + max(heights.values()) - highest + BOX_HEIGHT)
        top = block.bottoms[-1] + _BAND_GAP
    return block


def _columns_per_band(parts: Sequence[Column], step: float) -> int:
    """The number of columns per band with which the block best fits a page of the usual shape.

    All columns if bands would save little.
    """
    best = len(parts)
    size = max(best * step / _ASPECT, _bands_height(parts, best))
    if best * step <= _NARROW:
        return best
    for bands in range(2, len(parts) + 1):
        count = math.ceil(len(parts) / bands)
        height = _bands_height(parts, count)
        if max(count * step / _ASPECT, height) < size * _GAIN:
            best, size = count, max(count * step / _ASPECT, height)
        if height >= count * step / _ASPECT:
            break
    return best


def _bands_height(parts: Sequence[Column], count: int) -> float:
    """The smallest possible height of a block with ``count`` columns in a band."""
    bands = (parts[start : start + count] for start in range(0, len(parts), count))
    return sum(max(map(len, band)) * _PITCH + _BAND_GAP for band in bands)


def _heights(line: Sequence[Column], successors: Successors, backwards: Successors) -> dict[int, float]:
    """The top of each box of a band: as near to the middle of its neighbours as the other boxes of its column allow."""
    height: dict[int, float] = {}
    for column in line:
        for place, vertex in enumerate(column):
            height[vertex] = (place - len(column) / 2) * _PITCH
    for sweep in range(_RELAXATIONS):
        for column in reversed(line) if sweep % 2 else line:
            wanted = []
            for vertex in column:
                around = [height[n] for n in (*backwards[vertex], *successors[vertex]) if n in height]
                wanted.append(sum(around) / len(around) if around else height[vertex])
            height.update(zip(column, _spaced(wanted), strict=True))
    return height


def _spaced(wanted: Sequence[float]) -> list[float]:
    """The heights nearest to ``wanted`` that keep the order and leave room for each box: isotonic regression."""
    runs: list[tuple[float, int]] = []
    for place, height in enumerate(wanted):
        mean, count = height - place * _PITCH, 1
        while runs and runs[-1][0] > mean:
            other_mean, other_count = runs.pop()
            mean = (mean * count + other_mean * other_count) / (count + other_count)
            count += other_count
        runs.append((mean, count))
    means = [mean for mean, count in runs for _ in range(count)]
    return [mean + place * _PITCH for place, mean in enumerate(means)]


def _packed(blocks: list[Block]) -> Layout:
    """Arrange the blocks on shelves, the highest first, on a page not much wider than high."""
    area = sum((block.width + _GROUP_GAP) * (block.height + _GROUP_GAP) for block in blocks)
    widest = max((block.width for block in blocks), default=0.0)
    page_width = max(widest, math.sqrt(_ASPECT * area))
    placed: list[tuple[float, float, Block]] = []
    x = y = shelf = width = 0.0
    for block in sorted(blocks, key=lambda block: -block.height):
        if x and x + block.width > page_width:
            x, y, shelf = 0.0, y + shelf + _GROUP_GAP, 0.0
        placed.append((x, y, block))
        shelf = max(shelf, block.height)
        x += block.width + _GROUP_GAP
        width = max(width, x - _GROUP_GAP)
    return Layout(placed, width, y + shelf)
