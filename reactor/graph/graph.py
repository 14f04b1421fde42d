"""The graph itself: resources as vertices, the reasons for their order as edges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from reactor.resource.base import Resource

if TYPE_CHECKING:  # networkx takes 0.1 s to import, and the scheduler's side of the house never needs it
    import networkx as nx


class EdgeKind(StrEnum):
    """Why one resource goes before another, strongest last: a stronger edge replaces a weaker one."""

    AFTER = "after"
    AUTOMATIC = "automatic"
    REQUIRE = "require"
    SUBSCRIBE = "subscribe"


@dataclass
class Graph:
    """Resources and the DAG between them.

    The nodes of ``dag`` are refs (``file#/etc/motd``) in the order of the manifest. An edge ``a -> b`` says that
    ``a`` goes first; its attribute ``kind`` is an `EdgeKind`, its attribute ``reason`` a short text for people
    (``"require in file#/etc/motd"``). ``resources`` maps each ref to its resource, in the same order.
    """

    dag: nx.DiGraph[str]
    resources: dict[str, Resource]

    @cached_property
    def refs(self) -> list[str]:
        """The ref of each vertex number: vertices are numbered in the order of the manifest."""
        return list(self.resources)
