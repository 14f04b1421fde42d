"""The graph while it is built, as integers and plain dictionaries: ten times cheaper than networkx."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import islice

from reactor.errors import Place
from reactor.graph.globs import covers, is_glob
from reactor.graph.graph import EdgeKind, PlacedClaims
from reactor.graph.names import Names
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.common_properties import RefreshDebounce
from reactor.resource.diagnostic import Diagnostic, PropertyPath
from reactor.resource.gc_control import free
from reactor.resource.real_paths import RealPaths
from reactor.resource.relations import PATHS, Claim, PlacedClaim, Relations

Locate = Callable[[int, PropertyPath], Place | None]
"""Returns where the manifest declares a property of the resource with that number."""

Chain = tuple[Sequence[int], bool]
"""Vertices that must run one after the other, and whether a failure ends the chain."""

_STRENGTH = {kind: strength for strength, kind in enumerate(EdgeKind)}


class BuilderEdge(NamedTuple):
    """Why one resource goes before another, and which property of which resource is the reason."""

    kind: EdgeKind
    reason: str
    owner: int
    path: PropertyPath = ()
    quiet: RefreshDebounce | None = None
    ends: bool = False


def nowhere(_vertex: int, _path: PropertyPath) -> Place | None:
    """The place of resources that are not in a manifest: None."""
    return None


class GraphBuilder:
    """The state that the build steps share and change: edges by vertex number, and the problems found so far.

    The arguments are those of `reactor.graph.build.build`. The vertices are ``resources``, followed by
    ``placeholders``.
    """

    def __init__(
        self,
        resources: Sequence[Resource],
        locate: Locate = nowhere,
        *,
        chains: Sequence[Chain] = (),
        placeholders: Sequence[Resource] = (),
        broken: frozenset[str] = frozenset(),
        unread: bool = False,
        external: Sequence[str] = (),
    ) -> None:
        self.resources = [*resources, *placeholders]
        self.locate = locate
        self.chains = chains
        self._valid_count = len(resources)
        self._broken = broken
        self._unread = unread
        self._external = external
        self.refs = [resource.ref for resource in self.resources]
        self.deferred = {
            vertex: deferred
            for vertex, each in enumerate(self.resources)
            if (deferred := each.declared.deferred) is not None
        }
        self._relations: list[Relations | None] = [None] * len(self.resources)
        self.successors: list[dict[int, BuilderEdge]] = [{}] * len(self.resources)  # all share the empty one
        self.diagnostics: list[Diagnostic] = []

    @cached_property
    def names(self) -> Names:
        """The names of all resources. Many long manifests have no reference, and need none of them."""
        return Names(self.resources, self.refs)

    @cached_property
    def declined(self) -> frozenset[int]:
        """The vertices that are not managed on this host, judging by conditions known when the manifest is loaded."""
        return frozenset(vertex for vertex, deferred in self.deferred.items() if deferred.is_declined)

    @cached_property
    def deferred_loops(self) -> list[int]:
        """The loops over outputs of other resources."""
        if not self.deferred:
            return []
        from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415 - few manifests have such a loop

        return [vertex for vertex in self.deferred if isinstance(self.resources[vertex], DeferredLoop)]

    @cached_property
    def managed(self) -> list[int]:
        """The vertices that are managed on this host and whose properties are known."""
        return [vertex for vertex in range(self._valid_count) if vertex not in self.declined]

    def relations(self, vertex: int) -> Relations:
        """The relations of the resource. Cached, because some kinds read the host for them."""
        if (known := self._relations[vertex]) is None:
            known = self._relations[vertex] = self.resources[vertex].relations()
        return known

    @cached_property
    def claims(self) -> PlacedClaims:
        """The claims of the managed resources."""
        return PlacedClaims.of(self.resources, self.managed)

    def whole(self, claim: PlacedClaim) -> Claim:
        """``claim`` with what it desires."""
        return next(islice(self.resources[claim.vertex].claims(), claim.number, None))

    @cached_property
    def claims_by_path(self) -> dict[str, PlacedClaim]:
        """A claim of each claimed path."""
        return {claim.key: claim for claim in self.claims.everything if claim.space == PATHS}

    @cached_property
    def removing_or_editing(self) -> dict[int, Relations]:
        """The relations of the managed resources that remove something, or change a part of it. Most do neither."""
        every = zip(self.managed, map(self.relations, self.managed), strict=True)
        return {vertex: each for vertex, each in every if each.removes or each.edits}

    @cached_property
    def edits(self) -> dict[int, Collection[str]]:
        """The paths of files that each of the managed resources changes in part, also through a symlink."""
        return {vertex: each.edits for vertex, each in self.removing_or_editing.items() if each.edits}

    @cached_property
    def real_paths(self) -> RealPaths:
        """The paths of this host. Symlinks that the manifest manages are not followed, since it may replace them."""
        if not self.edits:
            return RealPaths(self.claims_by_path)
        return RealPaths(
            {
                claim.key
                for claim in self.claims.everything
                if claim.space == PATHS and claim.key not in self.edits.get(claim.vertex, ())
            }
        )

    def free(self) -> None:
        """Free what is long, piece by piece; the graph is built. See `reactor.resource.gc_control.free`."""
        free(self.successors)
        free(self._relations)
        self.claims.free()

    def is_valid(self, vertex: int) -> bool:
        """Whether ``vertex`` is a valid resource. A placeholder has only a name and references."""
        return vertex < self._valid_count

    def is_missed(self, name: str) -> bool:
        """Whether to report that no resource has this name."""
        if self._unread or name in self._broken:
            return False
        if is_glob(name) and not self._broken.isdisjoint(("*#*", f"{name.partition('#')[0]}#*")):
            return False  # a loop over nothing made no resource, or no role
        return not any(covers(pattern, (name,)) for pattern in self._external)

    def connect(self, first: int, second: int, edge: BuilderEdge) -> None:
        """Add an edge. Between the same two resources, the stronger kind stays; of equal kinds, the first edge.

        An edge that only refreshes and one that only blocks together become a ``subscribe`` edge. If either of them
        ends a chain at a failure, so does the result.
        """
        if not (below := self.successors[first]):
            below = self.successors[first] = {}
        known = below.setdefault(second, edge)
        if known is edge:
            return
        stronger = known
        if known.kind is not edge.kind:
            weaker, stronger = sorted((known, edge), key=lambda each: _STRENGTH[each.kind])
            if weaker.kind is EdgeKind.NOTIFY:
                stronger = weaker._replace(kind=EdgeKind.SUBSCRIBE)
        below[second] = stronger._replace(ends=known.ends or edge.ends)
