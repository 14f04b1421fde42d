"""The step for resources that their conditions leave alone on this host."""

from __future__ import annotations

from reactor.graph.graph import WEAK, EdgeKind
from reactor.graph.graph_builder import GraphBuilder


def release_declined(builder: GraphBuilder) -> None:
    """Keep only the order before a resource that is left alone: a failure is no matter to it, nor to what requires it."""
    if not builder.declined:
        return
    for below in builder.successors:
        for second in builder.declined & below.keys():
            kind = below[second].kind
            below[second] = below[second]._replace(kind=kind if kind in WEAK else EdgeKind.AFTER, ends=False)
