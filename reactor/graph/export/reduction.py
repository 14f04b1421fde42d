"""Which edges a picture can do without, because others say the same."""

from __future__ import annotations

from reactor.graph.digraph import topological_order
from reactor.graph.graph import REFRESHING, WEAK, EdgeKind

LARGEST = 2000
"""Vertices up to which it is done. Every vertex holds a bit for every other, and larger pictures are not read."""

Edges = list[dict[int, EdgeKind]]
"""For each vertex, its successors and the kinds of the edges to them."""


def reduced(edges: Edges) -> Edges:
    """The edges of a DAG without those that follow from the others; all of them above `LARGEST` vertices.

    An ``after`` edge goes when another way leads there, a strong one when another way of strong edges does. So
    both who goes first and who needs whom can still be read. ``subscribe`` and ``notify`` edges always stay.
    """
    if len(edges) > LARGEST:
        return edges
    order = topological_order(edges)
    position = {vertex: place for place, vertex in enumerate(order)}
    kept: Edges = [{} for _ in edges]
    reach, strong_reach = [0] * len(edges), [0] * len(edges)
    for vertex in reversed(order):
        # Nearest first: what a later successor could be reached through has been seen by then.
        for second in sorted(edges[vertex], key=position.__getitem__):
            kind = edges[vertex][second]
            strong = kind not in WEAK
            if kind in REFRESHING or not (strong_reach if strong else reach)[vertex] >> second & 1:
                kept[vertex][second] = kind
            reach[vertex] |= reach[second] | 1 << second
            if strong:
                strong_reach[vertex] |= strong_reach[second] | 1 << second
    return kept
