"""Which vertices of a picture stand in one column, and in which order: Sugiyama's method, in short."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reactor.graph.digraph import Successors, predecessors, topological_order

Column = list[int]
"""Vertices from top to bottom."""

_SWEEPS = 8
_LEAST_ROWS = 20


def components(successors: Successors) -> list[list[int]]:
    """Groups of connected vertices, each in ascending order. The vertices without any edge are one group, the last."""
    backwards = predecessors(successors)
    groups: list[list[int]] = []
    alone: list[int] = []
    seen: set[int] = set()
    for start in range(len(successors)):
        if start in seen:
            continue
        group = {start}
        stack = [start]
        while stack:
            vertex = stack.pop()
            further = {*successors[vertex], *backwards[vertex]} - group
            group |= further
            stack += further
        seen |= group
        if len(group) > 1:
            groups.append(sorted(group))
        else:
            alone.append(start)
    return [*groups, alone] if alone else groups


def columns(group: Sequence[int], successors: Successors) -> list[Column]:
    """The columns of one group, left to right: every edge leads to a later one.

    A layer that would make the picture much higher than wide is broken into several columns.
    """
    local = {vertex: number for number, vertex in enumerate(group)}
    onwards = [sorted(local[second] for second in successors[vertex]) for vertex in group]
    back = predecessors(onwards)
    layers = _layers(onwards, back)
    _untangle(layers, onwards, back)
    rows = max(_LEAST_ROWS if any(onwards) else 1, math.isqrt(3 * len(group)))
    return [[group[number] for number in column] for layer in layers for column in _broken(layer, rows)]


def _layers(onwards: Successors, back: Successors) -> list[Column]:
    """Each vertex one layer after the last of its predecessors; one without any, just before its first successor."""
    order = topological_order(onwards)
    layer = [0] * len(onwards)
    for vertex in order:
        layer[vertex] = max((layer[first] + 1 for first in back[vertex]), default=0)
    for vertex in order:
        if not back[vertex] and onwards[vertex]:
            layer[vertex] = min(layer[second] for second in onwards[vertex]) - 1
    layers: list[Column] = [[] for _ in range(max(layer) + 1)]
    for vertex, number in enumerate(layer):
        layers[number].append(vertex)
    return layers


def _untangle(layers: list[Column], onwards: Successors, back: Successors) -> None:
    """Sort each layer by where the neighbours stand, looking left, then right, in turn: fewer edges cross."""
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
    """Give the vertices of a layer heights between 0 and 1, evenly, in their order."""
    for place, vertex in enumerate(layer):
        height[vertex] = (place + 0.5) / len(layer)


def _broken(layer: Column, rows: int) -> list[Column]:
    """The layer in as few columns of at most ``rows`` as will do, dealt out in turn: neighbours stay at one height."""
    count = math.ceil(len(layer) / rows)
    return [layer[number::count] for number in range(count)]
