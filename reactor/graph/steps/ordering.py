"""The steps that keep the order of a manifest, and release the resources that their conditions decline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reactor.graph.graph import WEAK, EdgeKind
from reactor.graph.graph_builder import BuilderEdge, GraphBuilder

ORDERS = {False: "the order of the manifest", True: "the order of the manifest, which a failure ends"}
"""Why one goes after another, by whether a failure ends that."""


def add_manifest_order(builder: GraphBuilder) -> None:
    """Put each resource of a chain ``after`` the one before it.

    What is not managed on this host is not part of the order that a failure ends.
    """
    for chain, ends_with_failure in builder.chains:
        if ends_with_failure:
            _connect(builder, [each for each in chain if each not in builder.declined], ends=True)
        _connect(builder, chain, ends=False)


def _connect(builder: GraphBuilder, chain: Sequence[int], *, ends: bool) -> None:
    for first, second in pairwise(chain):
        builder.connect(first, second, BuilderEdge(EdgeKind.AFTER, ORDERS[ends], second, ends=ends))


def release_declined(builder: GraphBuilder) -> None:
    """Keep only the order before a resource that is left alone: a failure is no matter to it, nor to what requires it."""
    if not builder.declined:
        return
    for below in builder.successors:
        for second in builder.declined & below.keys():
            kind = below[second].kind
            below[second] = below[second]._replace(kind=kind if kind in WEAK else EdgeKind.AFTER, ends=False)
