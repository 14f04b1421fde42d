"""The graph itself: resources as vertices, the reasons for their order as edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from reactor.graph.claimed import Claimed
from reactor.resource.base import Resource
from reactor.resource.subscription import RefreshDebounce

if TYPE_CHECKING:  # networkx takes 0.1 s to import, and the scheduler's side of the house never needs it
    import networkx as nx


class EdgeKind(StrEnum):
    """Why one resource goes before another, strongest last: a stronger edge replaces a weaker one.

    ``notify`` tells of changes as ``subscribe`` does, and does not block: so a resource tells the one that stands for it.
    Together with an edge that blocks it is a ``subscribe``.
    """

    AFTER = "after"
    NOTIFY = "notify"
    AUTOMATIC = "automatic"
    REQUIRE = "require"
    SUBSCRIBE = "subscribe"


WEAK = frozenset((EdgeKind.AFTER, EdgeKind.NOTIFY))
"""The kinds of edges over which a failure blocks nobody."""

REFRESHING = frozenset((EdgeKind.SUBSCRIBE, EdgeKind.NOTIFY))
"""The kinds of edges that carry a refresh."""


class Edge(NamedTuple):
    """``first`` goes before ``second``, for a ``reason`` in words (``require in file#/etc/motd``).

    ``quiet`` says how long a refresh over this edge waits for further ones. With ``ends``, a failure of ``first`` ends the
    order that both are part of: ``second`` and what comes after it over such edges is blocked, whatever their kind. That
    ``first`` is blocked itself does not end it.
    """

    first: str
    second: str
    kind: EdgeKind
    reason: str
    quiet: RefreshDebounce | None = None
    ends: bool = False


@dataclass(eq=False, repr=False)
class Graph:
    """Resources and the DAG between them. ``resources`` maps each ref to its resource, in the manifest's order.

    When it is a part of another graph, ``left_out`` maps a ref to those it would refresh that are not in this part.
    ``claimed`` says which resources claim which files and units; it may name some that are not in this part.
    """

    resources: dict[str, Resource]
    edges: list[Edge]
    left_out: dict[str, list[str]] = field(default_factory=dict)
    claimed: Claimed = field(default_factory=Claimed)

    @cached_property
    def dag(self) -> nx.DiGraph[str]:
        """The same as a networkx graph; its nodes are refs, its edges have the attributes ``kind`` and ``reason``.

        Made when it is first asked for: importing networkx takes longer than converging a hundred files, and only
        pictures, selections and the explanation of a cycle need it.
        """
        import networkx as nx  # noqa: PLC0415

        dag: nx.DiGraph[str] = nx.DiGraph()
        dag.add_nodes_from(self.resources)
        dag.add_edges_from((e.first, e.second, {"kind": e.kind, "reason": e.reason}) for e in self.edges)
        return dag

    @cached_property
    def refs(self) -> list[str]:
        """The ref of each vertex number: vertices are numbered in the order of the manifest."""
        return list(self.resources)
