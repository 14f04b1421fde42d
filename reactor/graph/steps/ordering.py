"""The step that keeps the order of a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reactor.graph.draft import Draft, Edge
from reactor.graph.graph import EdgeKind

ORDERS = {False: "the order of the manifest", True: "the order of the manifest, which a failure ends"}
"""Why one goes after another, by whether a failure ends that."""


def add_manifest_order(draft: Draft) -> None:
    """Put each resource of a chain ``after`` the one before it.

    What is not managed on this host is not part of the order that a failure ends.
    """
    for chain, ends_with_failure in draft.chains:
        if ends_with_failure:
            _connect(draft, [each for each in chain if each not in draft.declined], ends=True)
        _connect(draft, chain, ends=False)


def _connect(draft: Draft, chain: Sequence[int], *, ends: bool) -> None:
    for first, second in pairwise(chain):
        draft.connect(first, second, Edge(EdgeKind.AFTER, ORDERS[ends], second, ends=ends))
