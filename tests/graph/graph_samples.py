"""Tiny kinds and graphs that the tests of the graph share."""

from __future__ import annotations

from pathlib import PurePosixPath

from reactor.errors import Place
from reactor.graph.build import build
from reactor.graph.graph import EdgeKind
from reactor.resource.base import Resource
from reactor.resource.relations import Relations


class Thing(Resource, kind="thing"):
    """A resource that says of itself what it uses, provides and removes."""

    ensure: str = "present"
    text: str | None = None
    using: tuple[str, ...] = ()
    providing: tuple[str, ...] = ()
    removing: tuple[str, ...] = ()
    clearing: tuple[str, ...] = ()

    async def observe(self):
        return None

    def plan(self, state, *, refresh):
        return ()

    def relations(self):
        return Relations(self.providing, self.removing, self.clearing, self.using)


class Path(Thing, kind="path"):
    """A file or directory, as the file kind behaves: it uses its parent, and provides or removes itself."""

    def relations(self):
        parent, is_gone = str(PurePosixPath(self.name).parent), self.ensure == "absent"
        return Relations(
            () if is_gone else (self.name,), (self.name,) if is_gone else (), depends_on=(parent,)
        )


def place(vertex, path):
    """Property ``path`` of resource number n is in line n + 1 of the manifest; its column is its length."""
    return Place("site.yaml", vertex + 1, len(path) + 1)


def built(*resources, ordering="graph", ends=False, broken=frozenset()):
    chains = [(range(len(resources)), ends)] if ordering == "manifest" else []
    return build(resources, chains=chains, locate=place, broken=broken)


def graph_of(*resources, ordering="graph", ends=False):
    graph, problems = built(*resources, ordering=ordering, ends=ends)
    assert problems == []
    return graph


def edges(graph):
    """The edges as ``{(first, second): kind}``, by name alone."""
    return {
        (first.partition("#")[2], second.partition("#")[2]): str(kind)
        for first, second, kind in graph.dag.edges(data="kind")
    }


def things(**requirements):
    """A graph of things: ``b={"require": "a"}`` is ``thing#b``, which requires ``thing#a``."""
    return graph_of(
        *(
            Thing(
                name=name, **{key: [f"thing#{n}" for n in names.split()] for key, names in properties.items()}
            )
            for name, properties in requirements.items()
        )
    )


def thing_graph(size, pairs):
    """A graph of ``size`` things with ``(first, second, kind)`` edges between their numbers."""
    wanted = {kind: [[] for _ in range(size)] for kind in EdgeKind}
    for first, second, kind in pairs:
        wanted[kind][second].append(f"thing#{first}")
    return graph_of(
        *(
            Thing(
                name=str(n),
                **{
                    str(kind): wanted[kind][n]
                    for kind in EdgeKind
                    if kind not in (EdgeKind.AUTOMATIC, EdgeKind.NOTIFY)
                },
            )
            for n in range(size)
        )
    )
