"""The step for resources that their conditions leave alone on this host."""

from __future__ import annotations

from reactor.graph.draft import Draft
from reactor.graph.graph import WEAK, EdgeKind


def release_declined(draft: Draft) -> None:
    """Keep only the order before a resource that is left alone: a failure is no matter to it, nor to what requires it."""
    if not draft.declined:
        return
    for below in draft.successors:
        for second in draft.declined & below.keys():
            kind = below[second].kind
            below[second] = below[second]._replace(kind=kind if kind in WEAK else EdgeKind.AFTER, ends=False)
