"""The step that keeps the order of a manifest."""

from __future__ import annotations

from itertools import pairwise

from reactor.graph.draft import Draft, Edge
from reactor.graph.graph import EdgeKind

MANIFEST_ORDER = "the order of the manifest"


def add_manifest_order(draft: Draft) -> None:
    """Put each resource of a chain ``after`` the one before it, which it requires if a failure ends the chain."""
    for chain, ends_with_failure in draft.chains:
        kind = EdgeKind.REQUIRE if ends_with_failure else EdgeKind.AFTER
        for first, second in pairwise(chain):
            draft.connect(first, second, Edge(kind, MANIFEST_ORDER, second))
