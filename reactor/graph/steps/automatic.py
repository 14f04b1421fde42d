"""The step that finds edges by itself, from the paths and accounts that resources provide, use and remove.

A resource with ``automatic_edges: false`` takes no part in it: no automatic edge starts or ends there, and the
search for the nearest provider of a path passes it over.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice, takewhile

from reactor.graph.draft import Draft, Edge
from reactor.graph.graph import EdgeKind
from reactor.graph.paths import parents
from reactor.graph.steps.acyclic import Pair, without_cycles
from reactor.graph.steps.members import members_by_whole, within

_PathIndex = dict[str, list[int]]
"""The vertices that named each path, in the order of the manifest."""


def add_automatic_edges(draft: Draft) -> None:
    """Add what follows from paths and accounts, but never an edge that would close a cycle."""
    paths = _Paths(draft)
    wanted: dict[Pair, Edge] = {}
    for first, second, owner, reason in chain(paths.from_uses(), paths.from_removes()):
        wanted.setdefault((first, second), Edge(EdgeKind.AUTOMATIC, reason, owner))
    for first, second in without_cycles(draft.successors, wanted):
        draft.connect(first, second, wanted[first, second])


_Wanted = Iterator[tuple[int, int, int, str]]
"""First, second, the one of the two that asks for the edge, and the reason."""


class _Paths:
    """What each resource says of the file system and the accounts, and the edges that follow."""

    def __init__(self, draft: Draft) -> None:
        self._refs = draft.refs
        self._provided: _PathIndex = {}
        self._used: _PathIndex = {}
        self._removed: _PathIndex = {}
        real = draft.real_paths
        for vertex, resource in enumerate(draft.resources):
            if resource.meta.automatic_edges and resource.takes_automatic_edges:
                for path in resource.provides():
                    _index(self._provided, path, real.of(path), vertex)
                for path in resource.uses():
                    _index(self._used, path, real.followed(path), vertex)
                for path in resource.removes():
                    _index(self._removed, path, real.of(path), vertex)
        self._let_members_use(draft)

    def _let_members_use(self, draft: Draft) -> None:
        """Members wait for what their whole uses: what writes the manifest that they are in goes before them."""
        wholes = members_by_whole(draft)
        for whole in wholes:
            for path in draft.resources[whole].uses():
                if whole in (users := self._used.get(path, [])):
                    users.extend(sorted(within(whole, wholes)))

    def from_uses(self) -> _Wanted:
        """The nearest provider at or above a path goes before its user, and so does all within a used directory."""
        for path, users in self._used.items():
            is_whole = path.endswith("/") and path != "/"
            within = self._within(path) if is_whole else ()
            above = self._providers_above(path.rstrip("/") if is_whole else path)
            for user in users:
                for provider in (*_nearest(above, user), *within):
                    if provider != user:
                        yield provider, user, user, f"{self._refs[user]} uses {path}"

    def _within(self, directory: str) -> list[int]:
        """Whoever provides something below ``directory``, which ends with a slash."""
        paths = self._sorted_provided
        start = bisect_left(paths, directory)
        below = takewhile(lambda path: path.startswith(directory), islice(paths, start, None))
        return [provider for path in below for provider in self._provided[path]]

    @cached_property
    def _sorted_provided(self) -> list[str]:
        return sorted(self._provided)

    def _providers_above(self, path: str) -> list[list[int]]:
        """Whoever provides ``path``, then whoever its parent, and so on."""
        return [self._provided[here] for here in (path, *parents(path)) if here in self._provided]

    def from_removes(self) -> _Wanted:
        """What lies in a directory is used, made or removed before the directory is removed."""
        if not self._removed:
            return
        below = sorted({*self._provided, *self._used, *self._removed})
        for path, removers in self._removed.items():
            others = {*self._provided.get(path, ()), *self._used.get(path, ())}
            others.update(self._strictly_below(path, below))
            for remover in removers:
                for other in sorted(others - {remover}):
                    yield other, remover, remover, f"{self._refs[remover]} removes {path}"

    def _strictly_below(self, path: str, every_path: list[str]) -> Iterator[int]:
        """Who has to do with paths below: sorted, those start with ``path/``, and all others lie to either side."""
        prefix = path.rstrip("/") + "/"
        for position in range(bisect_left(every_path, prefix), len(every_path)):
            below = every_path[position]
            if not below.startswith(prefix):
                return
            if below != path:
                for index in (self._provided, self._used, self._removed):
                    yield from index.get(below, ())


def _index(index: _PathIndex, path: str, real: str, vertex: int) -> None:
    """Enter ``vertex`` for the path as it is named, and as it is where symlinks lead there."""
    index.setdefault(path, []).append(vertex)
    if real != path:
        index.setdefault(real, []).append(vertex)


def _nearest(above: list[list[int]], user: int) -> list[int]:
    """The first that provide something and are not the user itself: usually one resource."""
    for providers in above:
        if found := [provider for provider in providers if provider != user]:
            return found
    return []
