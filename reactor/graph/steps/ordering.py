"""The step that keeps the order of a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reactor.graph.draft import Draft, Edge
from reactor.graph.graph import EdgeKind

MANIFEST_ORDER = "the order of the manifest"


def add_manifest_order(draft: Draft) -> None:
    """Put each resource of a chain ``after`` the one before it.

    If a failure ends the chain, each also requires the last one before it that is managed on this host.
    """
    for chain, ends_with_failure in draft.chains:
        _connect(draft, chain, EdgeKind.AFTER)
        if ends_with_failure:
            _connect(draft, [each for each in chain if each not in draft.declined], EdgeKind.REQUIRE)


def _connect(draft: Draft, chain: Sequence[int], kind: EdgeKind) -> None:
    for first, second in pairwise(chain):
        draft.connect(first, second, Edge(kind, MANIFEST_ORDER, second))
