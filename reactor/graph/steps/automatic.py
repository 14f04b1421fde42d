"""The step that finds edges by itself, from the paths and accounts that resources provide, use and remove.

A resource with ``automatic_edges: false`` takes no part in it: no automatic edge starts or ends there, and the search
for the nearest provider of a path skips it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import chain, islice, takewhile

from reactor.graph.graph import EdgeKind
from reactor.graph.graph_builder import BuilderEdge, GraphBuilder
from reactor.graph.names import parents
from reactor.graph.steps.cycles import Pair, without_cycles
from reactor.graph.steps.members import members_by_whole, within
from reactor.resource.gc_control import free, free_dict, free_set

_PathIndex = dict[str, list[int]]
"""The vertices that named each path, in the order of the manifest."""


def add_automatic_edges(builder: GraphBuilder) -> None:
    """Add the edges that follow from paths and accounts, except those that would close a cycle."""
    paths = _Paths(builder)
    wanted: dict[Pair, BuilderEdge] = {}
    for first, second, owner, reason in chain(paths.from_uses(), paths.from_removes(), paths.from_clears()):
        kind = EdgeKind.AFTER if paths.is_repaired(first, second) else EdgeKind.AUTOMATIC
        wanted.setdefault((first, second), BuilderEdge(kind, reason, owner))
    for first, second in without_cycles(builder.successors, wanted):
        builder.connect(first, second, wanted[first, second])
    free_dict(wanted)
    paths.free()


_Wanted = Iterator[tuple[int, int, int, str]]
"""Proposed edges: first, second, the one of the two that asks for the edge, and the reason."""


class _Paths:
    """The paths and accounts that each resource declares, and the edges that follow from them."""

    def __init__(self, builder: GraphBuilder) -> None:
        self._refs = builder.refs
        self._provided: _PathIndex = {}
        self._used: _PathIndex = {}
        self._removed: _PathIndex = {}
        self._cleared: _PathIndex = {}
        self._edited: _PathIndex = {}
        self._repaired: dict[int, Collection[str]] = {}
        provided: list[tuple[str, str, int]] = []
        real = builder.real_paths
        for vertex, resource in enumerate(builder.resources):
            if resource.meta.automatic_edges and resource.declared.form.allow_automatic_edges:
                relations = builder.relations(vertex)
                provides, removes, clears, depends_on, _, edits, *_ = relations
                provided += [(path, real.of(path), vertex) for path in provides]
                for path in edits:
                    _index(self._edited, path, real.of(path), vertex)
                for path in depends_on:
                    _index(self._used, path, real.followed(path), vertex)
                for path in removes:
                    _index(self._removed, path, real.of(path), vertex)
                if relations.repairs:
                    self._repaired[vertex] = relations.repairs
                for path in clears:
                    _index(self._cleared, path, real.of(path), vertex)
        self._index_provided(provided)
        self._leaving = {
            vertex for index in (self._removed, self._cleared) for each in index.values() for vertex in each
        }
        self._let_members_use(builder)

    def free(self) -> None:
        """Free what is long, piece by piece; no edge is asked for any more. See `reactor.resource.gc_control.free`."""
        for index in (self._provided, self._used, self._removed, self._cleared, self._edited):
            free_dict(index)

    def is_repaired(self, first: int, second: int) -> bool:
        """Whether ``second`` makes of use again what ``first`` provides: then it must not wait until that is well."""
        repaired = self._repaired.get(second, ())
        return any(first in self._provided.get(path, ()) for path in repaired)

    def _index_provided(self, provided: list[tuple[str, str, int]]) -> None:
        """Add to the index those of the ``provided`` paths that some resource uses. Most files are used by none."""
        wanted = self._wanted()
        for path, real, vertex in provided:
            if wanted is None or path in wanted or real in wanted:
                _index(self._provided, path, real, vertex)
        if wanted is not None:
            free_set(wanted)
        free(provided)

    def _wanted(self) -> set[str] | None:
        """The paths whose providers matter: those in use, and the directories above. None if any path may matter.

        That is so if whatever is in a directory matters, because the directory is used as a whole, removed or cleared.
        """
        if self._removed or self._cleared or any(path.endswith("/") and path != "/" for path in self._used):
            return None
        found: set[str] = set()
        for path in self._used:
            found.update(takewhile(lambda here: here not in found, (path, *parents(path))))
        return found

    def _let_members_use(self, builder: GraphBuilder) -> None:
        """Add edges from the dependencies of a composite to its members: the provider of their manifest goes first."""
        wholes = members_by_whole(builder)
        for whole in wholes:
            for path in builder.relations(whole).depends_on:
                if whole in (users := self._used.get(path, [])):
                    users.extend(sorted(within(whole, wholes)))

    def from_uses(self) -> _Wanted:
        """Order the providers of a path before its users: the nearest one at or above it, and all in a used directory.

        Resources that remove something in that directory also go before the user. But if the user is itself a removal,
        the user goes first, because it still needs the directory.
        """
        for path, users in self._used.items():
            is_whole = path.endswith("/") and path != "/"
            within = _below(path, self._sorted_provided, self._provided) if is_whole else []
            removers = _below(path, self._sorted_removed, self._removed) if is_whole else []
            above = self._providers_above(path.rstrip("/") if is_whole else path)
            editors = frozenset(self._edited.get(path, ()))
            if not (above or within or removers):
                continue
            before_editors = _nearest(above, editors) if editors else []
            for user in users:
                reason = f"{self._refs[user]} uses {path}"
                nearest = before_editors if user in editors else _nearest(above, (user,))
                for first in (*nearest, *within):
                    if first != user:
                        yield first, user, user, reason
                for remover in removers:
                    if user in self._leaving and remover != user:
                        yield user, remover, user, reason
                    elif remover != user:
                        yield remover, user, user, reason

    @cached_property
    def _sorted_provided(self) -> list[str]:
        return sorted(self._provided)

    @cached_property
    def _sorted_removed(self) -> list[str]:
        return sorted(self._removed)

    def _providers_above(self, path: str) -> list[list[int]]:
        """The vertices that provide ``path``, then those that provide its parent, and so on."""
        return [self._provided[here] for here in (path, *parents(path)) if here in self._provided]

    def from_removes(self) -> _Wanted:
        """Whatever is in a directory is used, created or removed before the directory is removed."""
        if not self._removed:
            return
        for path, removers in self._removed.items():
            others = {*self._provided.get(path, ()), *self._used.get(path, ())}
            for index in (self._provided, self._used, self._removed):
                others.update(_below(_as_directory(path), self._every_path, index))
            for remover in removers:
                for other in sorted(others - {remover}):
                    yield other, remover, remover, f"{self._refs[remover]} removes {path}"

    def from_clears(self) -> _Wanted:
        """Whatever uses, removes or clears something at or below a cleared path goes before; providers there go after.

        A user of a path that is provided there goes with its provider.
        """
        for path, clearers in self._cleared.items():
            comes = set(self._there(path, self._provided))
            goes = {*self._there(path, self._removed), *self._there(path, self._used_as_it_is)}
            goes.update(_below(_as_directory(path), self._every_path, self._cleared))
            for clearer in clearers:
                reason = f"{self._refs[clearer]} clears {path.rstrip('/') or '/'}"
                for other in sorted(goes - comes - {clearer}):
                    yield other, clearer, clearer, reason
                for other in sorted(comes - {clearer}):
                    yield clearer, other, clearer, reason

    def _there(self, path: str, index: _PathIndex) -> Iterator[int]:
        """The vertices that name ``path`` or something below it; only something below if ``path`` ends with a slash."""
        if not path.endswith("/"):
            yield from index.get(path, ())
        yield from _below(_as_directory(path), self._every_path, index)

    @cached_property
    def _used_as_it_is(self) -> _PathIndex:
        """The users of each path that no resource provides.

        A provider of a parent counts too, unless a cleared path is nearer.
        """
        return {path: users for path, users in self._used.items() if not self._is_renewed(path)}

    def _is_renewed(self, path: str) -> bool:
        for here in (path, *parents(path)):
            if here in self._provided:
                return True
            if here in self._cleared or f"{here}/" in self._cleared:
                return False
        return False

    @cached_property
    def _every_path(self) -> list[str]:
        return sorted({*self._provided, *self._used, *self._removed, *self._cleared})


def _below(directory: str, every_path: list[str], index: _PathIndex) -> list[int]:
    """The vertices in ``index`` with a path below ``directory``, which ends with a slash."""
    start = bisect_left(every_path, directory)
    below = takewhile(lambda path: path.startswith(directory), islice(every_path, start, None))
    return [vertex for path in below if path != directory for vertex in index.get(path, ())]


def _as_directory(path: str) -> str:
    return path.rstrip("/") + "/"


def _index(index: _PathIndex, path: str, real: str, vertex: int) -> None:
    """Add ``vertex`` under the path as written, and under the real path if symlinks lead there."""
    for each in (path,) if real == path else (path, real):
        if (known := index.get(each)) is None:
            index[each] = [vertex]  # takes less memory than a list that grows
        else:
            known.append(vertex)


def _nearest(above: list[list[int]], but: Collection[int]) -> list[int]:
    """The vertices, without ``but``, that provide the nearest path: usually one."""
    for providers in above:
        if found := [provider for provider in providers if provider not in but]:
            return found
    return []
