"""Groups the resources of a large picture into single boxes: by directory, kind or child manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import networkx as nx

from reactor.graph.graph import EdgeKind
from reactor.graph.topology import predecessors, topological_order

FROM = 100
"""The number of resources from which a picture is folded: fewer can be read one by one."""

_MOST = 40
"""How many boxes with names a window shows. Directories are merged into their parents until there are no more."""

_LEAST = 3
"""The smallest number of resources in a fold."""

Edges = list[dict[int, EdgeKind]]


class Member(NamedTuple):
    """The properties of a resource that folding needs; ``manifest`` is the file that declares it."""

    ref: str
    kind: str
    name: str
    manifest: str


class Fold(NamedTuple):
    """The common features of the resources in a box: a kind and, if their names are paths, a directory."""

    kind: str
    parts: tuple[str, ...]

    @property
    def label(self) -> str:
        """The directory, or the manifest; empty for the other resources of the kind."""
        return "/".join(self.parts) or ("/" if self.parts else "")

    @property
    def name(self) -> str:
        """The unique name of the fold."""
        return f"{self.kind} {self.label}".rstrip()


class Box(NamedTuple):
    """One box of a picture: a single resource, or several with the fold that they have in common."""

    members: list[int]
    fold: Fold | None


def folds(vertices: Sequence[Member]) -> list[list[Fold]]:
    """The folds of each vertex, from the widest to the narrowest.

    None for a vertex with too few others in its folds.
    """
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
    """Merge folds with fewer than ``least`` members into the fold of the parent directory, the deepest ones first."""
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

    ``opened`` are the names of folds whose parts are drawn: narrower folds, or single resources. ``*`` opens all.
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
    # No edge runs within one layer, so boxes on a cycle are split by layer.
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
    """The edges between boxes. Of several between the same two boxes, keeps the kind that comes first in `EdgeKind`."""
    number = {vertex: box for box, (members, _) in enumerate(boxed) for vertex in members}
    order = list(EdgeKind)
    edges: Edges = [{} for _ in boxed]
    for first, seconds in enumerate(outgoing):
        for second, kind in seconds.items():
            start, end = number[first], number[second]
            if start != end:
                edges[start][end] = min(kind, edges[start].get(end, kind), key=order.index)
    return edges
