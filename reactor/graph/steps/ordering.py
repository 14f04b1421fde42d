"""The step that keeps the order of a manifest."""

from __future__ import annotations

from itertools import pairwise

from reactor.graph.draft import Draft, Edge
from reactor.graph.graph import EdgeKind

MANIFEST_ORDER = "the order of the manifest"


def add_manifest_order(draft: Draft) -> None:
    """Put each resource of a chain ``after`` the one before it."""
    for chain in draft.chains:
        for first, second in pairwise(chain):
            draft.connect(first, second, Edge(EdgeKind.AFTER, MANIFEST_ORDER, second))
