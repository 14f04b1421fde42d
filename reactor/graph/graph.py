"""The graph: resources as vertices, the reasons for their order as edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from reactor.resource.base import Resource
from reactor.resource.common_properties import RefreshDebounce
from reactor.resource.composite import Composite
from reactor.resource.real_paths import RealPaths
from reactor.resource.relations import FILE_SPACES, UNITS, PlacedClaim

if TYPE_CHECKING:
    import networkx as nx

DirectoryId = tuple[int, int]
"""Device and inode."""


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
        claims: Collection[PlacedClaim],
        refs: Sequence[str],
        real_paths: RealPaths,
        shared_names: set[str],
        unknown: Iterable[int] = (),
    ) -> Claimed:
        """The index of ``claims``. ``refs`` are those of the vertices, ``unknown`` the vertices whose claims are not there.

        ``shared_names`` are the last components that several of the paths have.
        """
        claimed = cls(unknown=frozenset(map(refs.__getitem__, unknown)))
        parents = set[str]()
        for claim in claims:
            ref = refs[claim.vertex]
            if claim.space == UNITS:
                claimed.units[ref] = None
            elif claim.space in FILE_SPACES:
                parent, _, name = claim.key.rpartition("/")
                parents.add(parent)
                if name in shared_names:
                    claimed.by_path[claim.key] = (*claimed.by_path.get(claim.key, ()), ref)
                    claimed.paths[ref] = (*claimed.paths.get(ref, ()), claim.key)
                if claim.is_attributes_only:
                    claimed.attributes_only.setdefault(ref, []).append(claim.key)
        for parent in parents:
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
        if ref in self.resources:
            return True
        from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415 - few manifests have such a loop

        return any(isinstance(each, DeferredLoop) and each.may_make(ref) for each in self.resources.values())

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
