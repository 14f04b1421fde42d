"""Which resources a picture of many shows as one box: those of one directory, one kind, or one child manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import networkx as nx

from reactor.graph.graph import EdgeKind
from reactor.graph.topology import predecessors, topological_order

FROM = 100
"""Resources from which on a picture is folded: fewer can be read one by one."""

_MOST = 40
"""Boxes that a window shows with their names. Directories merge into their parents until there are no more."""

_LEAST = 3
"""Resources that are worth a fold."""

Edges = list[dict[int, EdgeKind]]


class Member(NamedTuple):
    """A resource as far as folding needs it; ``manifest`` is the file that declares it."""

    ref: str
    kind: str
    name: str
    manifest: str


class Fold(NamedTuple):
    """What resources have in common: a kind and, for those named by a path, a directory."""

    kind: str
    parts: tuple[str, ...]

    @property
    def label(self) -> str:
        """The directory, or the manifest; empty for all other resources of the kind."""
        return "/".join(self.parts) or ("/" if self.parts else "")

    @property
    def name(self) -> str:
        """What to call it by."""
        return f"{self.kind} {self.label}".rstrip()


class Box(NamedTuple):
    """One box of a picture: a resource alone, or several with the fold that they have in common."""

    members: list[int]
    fold: Fold | None


def folds(vertices: Sequence[Member]) -> list[list[Fold]]:
    """The folds of each vertex, from the widest to the narrowest; none for those that have too little company."""
    if len(vertices) < FROM:
        return [[] for _ in vertices]
    narrow = wide = _merged([_narrowest(vertex, vertices[0].manifest) for vertex in vertices], _LEAST)
    least = _LEAST
    while least <= len(vertices) and len(set(wide)) > _MOST:
        least *= 2
        wide = _merged(wide, least)
    counts = Counter(wide) | Counter(narrow)
    pairs = (dict.fromkeys(pair) for pair in zip(wide, narrow, strict=True))
    return [[fold for fold in pair if counts[fold] >= _LEAST] for pair in pairs]


def _narrowest(vertex: Member, main: str) -> Fold:
    if vertex.manifest != main:
        return Fold("manifest", (vertex.manifest,))
    if vertex.name.startswith("/"):
        return Fold(vertex.kind, tuple(vertex.name.split("/")[:-1]))
    return Fold(vertex.kind, ())


def _merged(found: list[Fold], least: int) -> list[Fold]:
    """The deepest first, what has fewer than ``least`` members becomes part of the directory above."""
    for depth in range(max(len(fold.parts) for fold in found), 0, -1):
        counts = Counter(found)
        found = [
            Fold(fold.kind, fold.parts[:-1])
            if len(fold.parts) == depth and counts[fold] < least and fold.kind != "manifest"
            else fold
            for fold in found
        ]
    return found


def boxes(found: Sequence[Sequence[Fold]], outgoing: Edges, opened: Collection[str]) -> list[Box]:
    """The boxes to draw, without cycles between them.

    ``opened`` are the names of folds of which the parts are drawn: narrower folds, or one by one. ``*`` opens all.
    """
    all_open = "*" in opened
    shut = [next((fold for fold in each if not all_open and fold.name not in opened), None) for each in found]
    boxed = list(_boxed(shut, [0] * len(shut)))
    edges = contracted(boxed, outgoing)
    graph: nx.DiGraph[int] = nx.DiGraph(
        (first, second) for first, seconds in enumerate(edges) for second in seconds
    )
    circular = {box for group in nx.strongly_connected_components(graph) if len(group) > 1 for box in group}
    if not circular:
        return boxed
    # Within one layer no edge runs, so the boxes of a circle are split by layer.
    layers, layer = _layers(outgoing), [0] * len(shut)
    for box in circular:
        for vertex in boxed[box].members:
            layer[vertex] = layers[vertex] + 1
    return list(_boxed(shut, layer))


def _boxed(shut: Sequence[Fold | None], layer: Sequence[int]) -> Iterator[Box]:
    together: dict[object, list[int]] = {}
    for vertex, fold in enumerate(shut):
        key = vertex if fold is None else (fold, layer[vertex])
        together.setdefault(key, []).append(vertex)
    for members in together.values():
        yield Box(members, shut[members[0]] if len(members) > 1 else None)


def _layers(outgoing: Edges) -> list[int]:
    successors = [list(seconds) for seconds in outgoing]
    back = predecessors(successors)
    layer = [0] * len(outgoing)
    for vertex in topological_order(successors):
        layer[vertex] = max((layer[first] + 1 for first in back[vertex]), default=0)
    return layer


def contracted(boxed: Sequence[Box], outgoing: Edges) -> Edges:
    """The edges between boxes; of several between the same two, the kind that comes first in `EdgeKind`."""
    number = {vertex: box for box, (members, _) in enumerate(boxed) for vertex in members}
    order = list(EdgeKind)
    edges: Edges = [{} for _ in boxed]
    for first, seconds in enumerate(outgoing):
        for second, kind in seconds.items():
            start, end = number[first], number[second]
            if start != end:
                edges[start][end] = min(kind, edges[start].get(end, kind), key=order.index)
    return edges
