"""What the vertex table changes when another graph comes into force. It is found beside the run and adopted at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from reactor.graph.graph import Graph
from reactor.graph.topology import Topology
from reactor.resource.base import Resource
from reactor.resource.declared import Deferred


class GraphDiff(NamedTuple):
    """The differences between two generations, as vertex numbers. ``kept`` are equal in all their properties.

    ``gone`` have left the graph now. ``absent`` are these, and the vertices that left earlier but kept their number.
    """

    kept: list[int]
    changed: list[int]
    added: list[int]
    gone: list[int]
    absent: list[int]


@dataclass(slots=True, eq=False, repr=False)
class TableChange:
    """The vertices of ``graph``, compared with a table of that ``version``. `VertexTable.compare` fills it.

    By vertex: ``fresh`` are the changed and added resources, ``deferred`` the new expressions of kept resources, and
    ``moving`` the resources in force whose values may change at each check. ``number``, ``free``, ``present`` and ``size``
    are those of the table once the change is adopted.
    """

    graph: Graph
    version: int
    present_before: dict[int, None]
    number: dict[str, int]
    free: list[int]
    size: int
    present: dict[int, None] = field(default_factory=dict)
    difference: GraphDiff = field(default_factory=lambda: GraphDiff([], [], [], [], []))
    fresh: dict[int, Resource] = field(default_factory=dict)
    deferred: dict[int, Deferred | None] = field(default_factory=dict)
    moving: dict[int, Resource] = field(default_factory=dict)
    topology: Topology = field(init=False)

    def number_of(self, ref: str) -> int:
        """The vertex of ``ref``; gives it one if it has none."""
        if (vertex := self.number.get(ref)) is None:
            if self.free:
                vertex = self.free.pop()
            else:
                vertex, self.size = self.size, self.size + 1
            self.number[ref] = vertex
        return vertex

    def find_gone(self) -> None:
        """All vertices of the graph are compared: find those that are in it no more."""
        self.difference.gone.extend(sorted(self.present_before.keys() - self.present.keys()))
        self.difference.absent.extend(sorted(set(self.number.values()).difference(self.present)))
