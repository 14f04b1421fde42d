"""The steps that keep the order of a manifest, and relax it for resources that are not managed on this host."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reactor.graph.graph import WEAK, EdgeKind
from reactor.graph.graph_builder import BuilderEdge, GraphBuilder

ORDERS = {False: "the order of the manifest", True: "the order of the manifest, which a failure ends"}
"""The reason for an edge, by whether a failure ends the chain."""


def add_manifest_order(builder: GraphBuilder) -> None:
    """Put each resource of a chain ``after`` the one before it.

    Resources that are not managed on this host are left out of a chain that ends at a failure.
    """
    for chain, ends_with_failure in builder.chains:
        if ends_with_failure:
            _connect(builder, [each for each in chain if each not in builder.declined], ends=True)
        _connect(builder, chain, ends=False)


def _connect(builder: GraphBuilder, chain: Sequence[int], *, ends: bool) -> None:
    for first, second in pairwise(chain):
        builder.connect(first, second, BuilderEdge(EdgeKind.AFTER, ORDERS[ends], second, ends=ends))


def release_declined(builder: GraphBuilder) -> None:
    """Weaken the edges to resources that are not managed: they keep the order, but pass on no failure."""
    if not builder.declined:
        return
    for below in builder.successors:
        for second in builder.declined & below.keys():
            kind = below[second].kind
            below[second] = below[second]._replace(kind=kind if kind in WEAK else EdgeKind.AFTER, ends=False)
