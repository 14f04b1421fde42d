"""The graph: resources as vertices, the reasons for their order as edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Self

from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.common_properties import RefreshDebounce
from reactor.resource.composite import Composite
from reactor.resource.gc_control import free, free_dict
from reactor.resource.real_paths import RealPaths
from reactor.resource.relations import FILE_SPACES, UNITS, PlacedClaim

if TYPE_CHECKING:
    import networkx as nx

    from reactor.resource.deferred_loop import DeferredLoop

DirectoryId = tuple[int, int]
"""Device and inode."""


@dataclass(slots=True)
class PlacedClaims:
    """The claims of some resources, sorted for the search for two that concern the same thing.

    ``everything`` has all claims, in the order of the manifest, and ``directories`` the parents of their paths.
    ``comparable`` has, in the same order, the claims that may concern the same thing as another claim. It leaves out a
    path whose last component no other claim has: two paths can only be one file if their last components are equal.
    """

    everything: list[PlacedClaim] = field(default_factory=list)
    comparable: list[PlacedClaim] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, resources: Sequence[Resource], vertices: Iterable[int]) -> Self:
        """The claims of the ``resources`` with the numbers ``vertices``, which are in ascending order."""
        found = cls()
        # By last component: the only claim so far; None where there are several.
        alone: dict[str, PlacedClaim | None] = {}
        for vertex in vertices:
            for number, claim in enumerate(resources[vertex].claims()):
                space, key = claim.space, claim.key
                placed = PlacedClaim(vertex, number, space, key, claim.is_attributes_only)
                found.everything.append(placed)
                if space in FILE_SPACES:
                    directory, _, name = key.rpartition("/")
                    found.directories.add(directory)
                    first = alone.setdefault(name, placed)
                    if first is placed:
                        continue
                    if first is not None:
                        found.comparable.append(first)
                        alone[name] = None
                found.comparable.append(placed)
        found.comparable.sort()  # the first of each name was added late
        free_dict(alone)
        return found

    def free(self) -> None:
        """Free what is long, piece by piece. See `reactor.resource.gc_control.free`."""
        free(self.comparable)
        free(self.everything)


@dataclass(slots=True)
class Claimed:
    """Indexes the claims of things that can have two names.

    Two paths can be one file only if their last components are equal. So only the paths whose last component several
    claims have are kept: ``by_path`` has the claiming refs of each, and ``paths`` these paths of each ref that claims
    one. ``directories`` has all names of the parent directories of all claimed paths, by device and inode, without
    directories that do not exist. ``attributes_only`` has the paths whose content no resource manages, by claiming ref.
    ``units`` are the refs of the resources that claim units; ``unknown`` those whose claims are not here, because a
    condition excluded them.
    """

    by_path: dict[str, tuple[str, ...]] = field(default_factory=dict)
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    directories: dict[DirectoryId, set[str]] = field(default_factory=dict)
    attributes_only: dict[str, list[str]] = field(default_factory=dict)
    units: dict[str, None] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    _ids: dict[str, DirectoryId] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        claims: PlacedClaims,
        refs: Sequence[str],
        real_paths: RealPaths,
        unknown: Iterable[int] = (),
    ) -> Claimed:
        """The index of ``claims``. ``refs`` are those of the vertices, ``unknown`` the vertices whose claims are not there."""
        claimed = cls(unknown=frozenset(map(refs.__getitem__, unknown)))
        for claim in claims.comparable:
            ref = refs[claim.vertex]
            if claim.space == UNITS:
                claimed.units[ref] = None
            elif claim.space in FILE_SPACES:
                claimed.by_path[claim.key] = (*claimed.by_path.get(claim.key, ()), ref)
                claimed.paths[ref] = (*claimed.paths.get(ref, ()), claim.key)
        for claim in claims.everything:
            if claim.is_attributes_only and claim.space in FILE_SPACES:
                claimed.attributes_only.setdefault(refs[claim.vertex], []).append(claim.key)
        for parent in claims.directories:
            if (found := real_paths.directory_id(parent)) is not None:
                claimed.names_of(parent, found)
        return claimed

    def names_of(self, directory: str, found: DirectoryId) -> Collection[str]:
        """All names of ``directory``, whose device and inode are now ``found``.

        If they have changed, drops the old entry.
        """
        before = self._ids.get(directory)
        if before == found:
            return self.directories[found]
        if before is not None:
            self.directories[before].discard(directory)
            if not self.directories[before]:
                del self.directories[before]
        self._ids[directory] = found
        names = self.directories.setdefault(found, set())
        names.add(directory)
        return names


class EdgeKind(StrEnum):
    """Why one resource goes before another. The strongest is last: a stronger edge replaces a weaker one.

    ``notify`` carries refreshes as ``subscribe`` does, but does not block: it connects members to their composite.
    Together with an edge that blocks, it becomes a ``subscribe`` edge.
    """

    AFTER = "after"
    NOTIFY = "notify"
    AUTOMATIC = "automatic"
    REQUIRE = "require"
    SUBSCRIBE = "subscribe"


WEAK = frozenset((EdgeKind.AFTER, EdgeKind.NOTIFY))
"""The kinds of edges over which a failure does not block."""

REFRESHING = frozenset((EdgeKind.SUBSCRIBE, EdgeKind.NOTIFY))
"""The kinds of edges that carry a refresh."""


class Edge(NamedTuple):
    """``first`` goes before ``second``, for a ``reason`` in words (``require in file#/etc/motd``).

    ``quiet`` says how long a refresh over this edge waits for further ones. With ``ends``, a failure of ``first`` ends
    the ordered chain of both: ``second`` and everything after it over such edges is blocked, whatever the kinds of
    the edges. If ``first`` is only blocked, the chain does not end.
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

    If the graph is a part of another one, ``left_out`` maps a ref to its subscribers that are not in this part.
    ``claimed`` indexes which resources claim which files and units; it may name resources that are not in this part.
    """

    resources: dict[str, Resource]
    edges: list[Edge]
    left_out: dict[str, list[str]] = field(default_factory=dict)
    claimed: Claimed = field(default_factory=Claimed)

    @cached_property
    def dag(self) -> nx.DiGraph[str]:
        """The graph as a `networkx.DiGraph`, for queries of ancestors, generations, paths and components.

        Its nodes are refs. Its edges lead from the resource that goes first, and have the attributes ``kind``
        (`EdgeKind`) and ``reason``. Do not change it. It is built at the first access, because importing networkx
        takes longer than converging a hundred files: only pictures, selections and the explanation of a cycle need it,
        not a run.
        """
        import networkx as nx  # noqa: PLC0415

        dag: nx.DiGraph[str] = nx.DiGraph()
        dag.add_nodes_from(self.resources)
        dag.add_edges_from((e.first, e.second, {"kind": e.kind, "reason": e.reason}) for e in self.edges)
        return dag

    def may_have(self, ref: str) -> bool:
        """Whether it has the resource ``ref``, or a loop of unknown elements that may make it."""
        return ref in self.resources or any(each.may_make(ref) for each in self._deferred_loops)

    @cached_property
    def _deferred_loops(self) -> list[DeferredLoop]:
        from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415 - few manifests have such a loop

        return [each for each in self.resources.values() if isinstance(each, DeferredLoop)]

    @cached_property
    def has_unread_parts(self) -> bool:
        """Whether another manifest, whose resources belong here, is not applied: nobody knows what they would be."""
        return any(
            isinstance(each, Composite) and each.refusal is not None for each in self.resources.values()
        )

    @cached_property
    def refs(self) -> list[str]:
        """The ref of each vertex number: vertices are numbered in the order of the manifest."""
        return list(self.resources)
