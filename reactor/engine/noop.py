"""What a dry run can predict about the real run."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from reactor.engine.check import CheckResult
from reactor.engine.event_recorder import Results
from reactor.engine.events import Result
from reactor.engine.outcome import Outcome
from reactor.engine.reversals import Reversals
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable
from reactor.graph.topology import Adjacency, Topology, predecessors
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.plan import ResourceError
from reactor.resource.real_paths import RealPaths

_NONE: frozenset[int] = frozenset()


class NoopJudge:
    """Knows which changes a dry run did not apply, and judges the other checks accordingly."""

    def __init__(
        self, vertex_table: VertexTable, results: Results, reversals: Reversals, scheduler: Scheduler
    ) -> None:
        self._vertex_table = vertex_table
        self._results = results
        self._reversals = reversals
        self._scheduler = scheduler
        self._topology: Topology | None = None
        self._before: Adjacency = []
        self._providers: dict[str, set[int]] = {}
        self._unsure: set[int] = set()
        """The vertices that may fail or not: only what a run makes before will tell."""
        self._later_providers: dict[int, int] = {}
        """For each failed vertex, another that would provide what it misses, though it need not come before it."""
        self.missed: dict[int, str] = {}
        """What each failed vertex misses and no earlier vertex would provide. `take_provided_later` clears it."""

    async def preflight(self, vertex: int, state: Any) -> None:
        """``vertex`` was observed as ``state`` and would be changed: raise any error a real run is known to meet."""
        self._unsure.discard(vertex)
        resource = self._vertex_table.resources[vertex]
        if resource.meta.mode == "warn":  # no run changes it
            return
        if resource.meta.reverse:
            await self._reversals.preflight(resource, state)
        try:
            await resource.preflight(state)
        except ResourceError as error:
            for each in (error, *error.others):
                if each.missing is None or not self._would_come(vertex, each.missing):
                    raise each from None

    def downgrade(self, vertex: int, result: CheckResult) -> CheckResult:
        """Turn a failure into "Can't tell" if an earlier change, not applied in this run, might prevent it.

        A vertex that comes earlier only in the order of the manifest may also provide what is missing.
        """
        if self._vertex_table.resources[vertex].declared.members:  # its members failed
            return result
        if result.missing is None:
            up = self._likely_cause(vertex)
        else:
            up = self._bringer(vertex, result.missing)
            up = self._later_providers.get(vertex) if up is None else up
            if up is None:
                self.missed[vertex] = result.missing
        if up is None:
            return result
        reason = str(result.error).partition("\n")[0]  # the output of a program follows in further lines
        self._unsure.add(vertex)
        text = f"Can't tell before {self._vertex_table.refs[up]} is applied ({reason})"
        return CheckResult(Outcome.WOULD_CHANGE, (text,))

    def take_provided_later(self) -> list[int]:
        """The failed vertices that miss something which another vertex, earlier or later, would provide.

        A real run checks its failures once more at its end, so these do not fail there. A command counts only for the
        paths that it declares.
        """
        self._learn()
        missed, self.missed = self.missed, {}
        resources = self._vertex_table.resources
        found: dict[int, int] = {}
        groups: dict[bool, list[int]] = {}
        for vertex in missed:
            groups.setdefault(self._is_read_only(vertex), []).append(vertex)
        for vertices in groups.values():
            would = (up for up in self._results.would_change if self._is_unapplied(up, vertices[0]))
            providers = LaterProviders(would, resources)
            for vertex in vertices:
                depends_on = resources[vertex].relations().depends_on
                if (up := providers.find(vertex, missed[vertex], depends_on)) is not None:
                    found[vertex] = up
        self._later_providers |= found
        return sorted(found)

    def with_consequences(self, vertex: int, result: CheckResult) -> CheckResult:
        """``result``, plus what a real run would do to ``vertex`` as a consequence of earlier changes."""
        resource = self._vertex_table.resources[vertex]
        if (giver := self._unapplied_giver(vertex, resource)) is not None:
            if result.outcome is Outcome.OK:
                text = f"Can't tell before {giver} is applied (its outputs are used)"
                return CheckResult(Outcome.WOULD_CHANGE, (text,), health=result.health)
            result = result._replace(diffs=())  # they show the values of now
        if result.outcome is Outcome.OK and result.declined is None:
            result = self._unless_undecided(vertex, result)
        if type(resource).consequences is Resource.consequences or result.declined is not None:
            return result
        sentences = [
            each for each in resource.consequences(self._changed_before(vertex)) if each not in result.actions
        ]
        if not sentences:
            return result
        return result._replace(outcome=Outcome.WOULD_CHANGE, actions=(*sentences, *result.actions))

    def _unless_undecided(self, vertex: int, result: CheckResult) -> CheckResult:
        """``result``, or "Can't tell" if what a real run changes before may decide that there is something to do."""
        resource = self._vertex_table.resources[vertex]
        if type(resource).undecided_by is Resource.undecided_by:
            return result
        for up in self._unapplied(vertex, self._scheduler.topology.strong_predecessors):
            relations = self._vertex_table.resources[up].relations()
            if (path := resource.undecided_by((*relations.provides, *relations.removes))) is not None:
                text = f"Can't tell before {self._vertex_table.refs[up]} is applied ({path} decides)"
                self._unsure.add(vertex)
                return CheckResult(Outcome.WOULD_CHANGE, (text,), health=result.health)
        return result

    def _unapplied_giver(self, vertex: int, resource: Resource) -> str | None:
        """A resource whose outputs the expressions of ``resource`` use, and that a real run would change; or None."""
        if (deferred := resource.declared.deferred) is None:
            return None
        for ref in deferred.takes:
            up = self._vertex_table.find(ref)
            if up is not None and self._is_unapplied(up, vertex):
                return ref
        return None

    def _changed_before(self, vertex: int) -> frozenset[str]:
        """The paths and accounts that the required vertices provide or remove, if a real run would change them."""
        strong = self._scheduler.topology.strong_predecessors
        relations = [self._vertex_table.resources[up].relations() for up in self._unapplied(vertex, strong)]
        return frozenset(path for each in relations for path in (*each.provides, *each.removes))

    def _would_come(self, vertex: int, missing: str) -> bool:
        """Whether a change that was not applied would surely provide ``missing``, or something in that directory."""
        self._learn()
        named = frozenset().union(*(self._providers.get(each, _NONE) for each in names_of(missing)))
        few, many = sorted((named, self._results.would_change), key=len)
        return any(up in many and up not in self._unsure and self._is_unapplied(up, vertex) for up in few)

    def _bringer(self, vertex: int, missing: str) -> int | None:
        """The most likely provider of ``missing`` among the unapplied vertices before ``vertex``, or None."""
        self._learn()
        resources = self._vertex_table.resources
        names = names_of(missing)
        able = [
            up for up in self._unapplied(vertex, self._before) if any(map(resources[up].might_provide, names))
        ]
        provides_nothing = self._provides_nothing_for(vertex)
        return min(
            able, key=lambda up: (not concerns(resources[up], *names), provides_nothing(up)), default=None
        )

    def _likely_cause(self, vertex: int) -> int | None:
        """The unapplied vertex before ``vertex`` that is the most likely cause of any failure of it, or None."""
        ups = self._unapplied(vertex, self._scheduler.topology.strong_predecessors)
        return min(ups, key=self._provides_nothing_for(vertex), default=None)

    def _provides_nothing_for(self, vertex: int) -> Callable[[int], bool]:
        """A key that sorts what provides a path that ``vertex`` depends on before all others."""
        resources = self._vertex_table.resources
        relied_on = [path.rstrip("/") for path in resources[vertex].relations().depends_on]
        return lambda up: not concerns(resources[up], *relied_on)

    def _unapplied(self, vertex: int, before: Adjacency) -> Iterator[int]:
        """The vertices before ``vertex`` (by ``before``) that a real run would change, nearest first."""
        seen, ahead = {vertex}, deque([vertex])
        while ahead:
            for up in before[ahead.popleft()]:
                if up not in seen:
                    seen.add(up)
                    ahead.append(up)
                    if self._is_unapplied(up, vertex):
                        yield up

    def _is_unapplied(self, up: int, vertex: int) -> bool:
        """Whether a run that changes ``vertex`` would change ``up`` as well.

        What no run changes, by its own ``noop`` or ``mode: warn``, brings something only to others of its sort.
        """
        if self._is_read_only(up) and not self._is_read_only(vertex):
            return False
        return self._results.result(up, self._scheduler.blocking.blocked) is Result.WOULD_CHANGE

    def _is_read_only(self, vertex: int) -> bool:
        return self._vertex_table.resources[vertex].meta.is_read_only

    def _learn(self) -> None:
        """Index the providers of the graph in force, once. Done late, because only failures need it."""
        topology = self._scheduler.topology
        if self._topology is topology:
            return
        self._topology = topology
        self._before = list(map(tuple, predecessors(topology.successors)))
        self._providers = {}
        for vertex in self._vertex_table.present:
            resource = self._vertex_table.resources[vertex]
            for path in resource.relations().provides:
                for each in (path, *map(str, PurePath(path).parents if path.startswith("/") else ())):
                    if resource.might_provide(each):
                        self._providers.setdefault(each, set()).add(vertex)


class _Able(NamedTuple):
    """The vertices that may provide one missing thing, in order. ``concerned`` provide it, or a path above or below."""

    all: frozenset[int]
    concerned: Sequence[int]
    likely: Sequence[int]


class LaterProviders:
    """Knows which of the ``unapplied`` vertices may provide what. Many vertices may miss the same: it is found once."""

    def __init__(
        self, unapplied: Iterable[int], resources: Mapping[int, Resource] | Sequence[Resource]
    ) -> None:
        self._unapplied = sorted(unapplied)
        self._resources = resources
        self._able: dict[str, _Able] = {}
        self._by_path: dict[str, list[int]] = {}
        for vertex in self._unapplied:
            for path in resources[vertex].relations().provides:
                self._by_path.setdefault(path, []).append(vertex)

    def find(self, vertex: int, missing: str, relied_on: Collection[str]) -> int | None:
        """The most likely provider of ``missing`` for ``vertex``, which depends on the paths ``relied_on``, or None."""
        if missing not in self._able:
            self._able[missing] = self._find_able(missing)
        able = self._able[missing]
        relied = (up for path in relied_on for up in self._by_path.get(path, ()) if up in able.all)
        certain = min((up for up in (*able.concerned[:2], *relied) if up != vertex), default=None)
        return next((up for up in able.likely[:2] if up != vertex), None) if certain is None else certain

    def _find_able(self, missing: str) -> _Able:
        names = names_of(missing)
        able = [up for up in self._unapplied if any(map(self._resources[up].might_provide, names))]
        concerned = [up for up in able if concerns(self._resources[up], *names)]
        likely = [up for up in able if self._is_likely(self._resources[up], missing)]
        likely.sort(key=lambda up: not _are_alike(self._resources[up].name, missing))
        return _Able(frozenset(able), concerned, likely)

    def _is_likely(self, other: Resource, missing: str) -> bool:
        return other.provides_more and not missing.startswith(f"{other.kind}#")


def _are_alike(name: str, missing: str) -> bool:
    """Whether a resource of this ``name`` probably brings ``missing``: the package ``sudo`` the program ``visudo``."""
    word = PurePath(missing.rpartition("#")[2]).name
    return bool(name and word) and (word in name or name in word)


def names_of(missing: str) -> Sequence[str]:
    """What is missing, and if that is a symlink, also where it leads: one of them must come."""
    return (missing, RealPaths().destination(missing)) if os.path.islink(missing) else (missing,)


def concerns(resource: Resource, *missing: str) -> bool:
    """Whether ``resource`` provides one of the paths ``missing``, or a path above or below it."""
    return any(
        f"{each}/".startswith(f"{path}/") or f"{path}/".startswith(f"{each}/")
        for each in resource.relations().provides
        for path in missing
    )
