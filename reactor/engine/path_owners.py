"""Finds resources that manage the same file by different paths, and refuses the second if it declares another state.

When the manifest is loaded, the graph already refuses two paths of one file, as far as the directories exist then.
This module finds conflicts that arise later. It runs only before a change, and then reads one directory: a check that
changes nothing costs nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from reactor.engine.vertex_table import VertexTable
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.mount_health import FragileMounts
from reactor.resource.plan import ResourceError
from reactor.resource.real_paths import DirectoryEntry, directory_id_of, entry_of, hard_link_of
from reactor.resource.relations import CHANGING_SPACES, FILE_SPACES, UNITS, Claim

_MOST_INDICES = 2
"""Units of the system and of the user have other stamps."""


class _UnitIndex(NamedTuple):
    """The refs that claim units: by the key of the unit, while a stamp is the same, and those with another stamp."""

    by_key: dict[str, list[str]]
    uncertain: list[str]


class PathOwners:
    """The vertices that claim files and units.

    A vertex that disagrees with an owner is refused, and then owns nothing.
    """

    def __init__(self, vertex_table: VertexTable) -> None:
        self._vertex_table = vertex_table
        self._refused: set[int] = set()
        self._units: dict[object, _UnitIndex] = {}
        """By the stamp that the claims had."""
        self._decided: set[int] = set()
        """The vertices with conditions that were evaluated and are met."""

    def forget(self, gone: Iterable[int]) -> None:
        """Another graph is in force, without ``gone``. Refused vertices may try again; files may have other paths."""
        self._refused.clear()
        self._units.clear()
        self._decided.difference_update(gone)
        self.__dict__.pop("_hard_links", None)
        self.__dict__.pop("_groups", None)

    def decide(self, vertex: int, *, is_managed: bool) -> None:
        """Record whether the conditions of ``vertex`` are met: only then does it own something."""
        (self._decided.add if is_managed else self._decided.discard)(vertex)

    def require_agreement(self, vertex: int, mounts: FragileMounts) -> None:
        """Raise ResourceError when another resource claims the same as ``vertex`` but declares another state.

        Paths on a mount that does not answer (see ``mounts``) are not read.
        """
        self._refused.discard(vertex)
        if self._is_alone(self._vertex_table.refs[vertex], mounts):
            return
        for claim in self._vertex_table.resources[vertex].claims():
            if claim.space not in CHANGING_SPACES or mounts.unresponsive_reason(claim.key) is not None:
                continue
            for other in self._others(vertex, claim):
                self._compare(vertex, claim, other, mounts)

    def _is_alone(self, ref: str, mounts: FragileMounts) -> bool:
        """Whether certainly no other resource claims a path of ``ref`` by any name.

        If False, claims are compared one by one.
        """
        claimed = self._vertex_table.claimed
        if (
            mounts.by_point
            or ref in claimed.attributes_only
            or ref in claimed.units
            or ref in claimed.unknown
        ):
            return False
        for path in claimed.paths.get(ref, ()):
            if len(claimed.by_path[path]) != 1 or len(self._names_of(path.rpartition("/")[0])) != 1:
                return False
        return True

    def _others(self, vertex: int, claim: Claim) -> Iterator[int]:
        """The vertices that may claim the same thing as ``claim``, which is a claim of ``vertex``."""
        compared = self._compared_before(vertex)
        for ref in self._refs(claim):
            if ref in compared:
                continue
            other = self._vertex_table.find(ref)
            if other is not None and other != vertex and self._is_owner(other):
                yield other

    def _compared_before(self, vertex: int) -> Collection[str]:
        """The refs that the graph has compared with ``vertex`` already: those of its group, if its kind compares them."""
        resource = self._vertex_table.resources[vertex]
        if (compare := _comparison_of(resource)) is None:
            return ()
        return self._groups.get((compare, resource.group_key()), ())

    @cached_property
    def _groups(self) -> dict[tuple[object, object], set[str]]:
        """The refs of each group of a kind that compares its resources. Collected at first access."""
        found: dict[tuple[object, object], set[str]] = {}
        for vertex in self._vertex_table.present:
            resource = self._vertex_table.resources[vertex]
            if (compare := _comparison_of(resource)) is not None:
                group = compare, resource.group_key()
                found.setdefault(group, set()).add(self._vertex_table.refs[vertex])
        return found

    def _is_owner(self, vertex: int) -> bool:
        if vertex in self._refused:
            return False
        return self._vertex_table.resources[vertex].declared.deferred is None or vertex in self._decided

    def _refs(self, claim: Claim) -> Iterator[str]:
        if claim.space == UNITS:
            yield from self._refs_of_unit(claim)
            return
        directory, _, base = claim.key.rpartition("/")
        for name in self._names_of(directory):
            yield from self._vertex_table.claimed.by_path.get(f"{name}/{base}", ())
        if claim.is_attributes_only and (shared := hard_link_of(claim.key)) is not None:
            yield from self._hard_links.get(shared, ())

    def _refs_of_unit(self, claim: Claim) -> Collection[str]:
        """The refs that may claim the same unit as ``claim``: all that claim any unit, if names may have changed."""
        if claim.stamp is None:
            return self._vertex_table.claimed.units
        if claim.stamp not in self._units:
            if len(self._units) >= _MOST_INDICES:
                self._units.clear()
            self._units[claim.stamp] = self._index_units(claim.stamp)
        index = self._units[claim.stamp]
        return (*index.by_key.get(claim.key, ()), *index.uncertain)

    def _index_units(self, stamp: object) -> _UnitIndex:
        index = _UnitIndex({}, [])
        for ref in self._vertex_table.claimed.units:
            if (vertex := self._vertex_table.find(ref)) is None:
                continue
            resource = self._vertex_table.resources[vertex]
            for each in resource.claims():
                if each.space == UNITS and each.stamp == stamp and resource.declared.deferred is None:
                    index.by_key.setdefault(each.key, []).append(ref)
                elif each.space == UNITS:
                    index.uncertain.append(ref)
        return index

    def _names_of(self, directory: str) -> Collection[str]:
        """``directory`` and its other names, as far as anything in them is claimed."""
        if (found := directory_id_of(directory)) is None:
            return (directory,)
        return self._vertex_table.claimed.names_of(directory, found)

    @cached_property
    def _hard_links(self) -> dict[DirectoryEntry, list[str]]:
        """The refs that claim only attributes of a file with several hard links, by that file. Read at first access."""
        found: dict[DirectoryEntry, list[str]] = {}
        for ref, paths in self._vertex_table.claimed.attributes_only.items():
            for path in paths:
                if (shared := hard_link_of(path)) is not None:
                    found.setdefault(shared, []).append(ref)
        return found

    def _compare(self, vertex: int, claim: Claim, other: int, mounts: FragileMounts) -> None:
        """Raise ResourceError if ``other`` claims the same thing as ``claim`` but declares another state."""
        resource = self._vertex_table.resources[other]
        for theirs in resource.claims():
            attributes = claim.disagreement(theirs)
            if attributes and theirs.space == claim.space and _is_same(claim, theirs, mounts):
                self._refused.add(vertex)
                where = f" ({resource.declared.place})" if resource.declared.place else ""
                same = f"the {claim.space} {claim.key}"
                if theirs.key != claim.key:
                    same = f"{claim.key} is {theirs.key} as well"
                words = f"{same}: {resource.ref}{where} declares another {' and '.join(attributes)}"
                raise ResourceError(words, "remove one of them, or make both declare the same")


def _comparison_of(resource: Resource) -> object | None:
    """The function that compares the resources of one group with each other, or None."""
    compare: object = type(resource).contradictions.__func__  # type: ignore[attr-defined]
    return None if compare is Resource.contradictions.__func__ else compare  # type: ignore[attr-defined]


def _is_same(ours: Claim, theirs: Claim, mounts: FragileMounts) -> bool:
    """Whether two claims are of one thing.

    Writing content replaces the file of one path, so hard links share only attributes.
    """
    if ours.space not in FILE_SPACES or ours.key == theirs.key:
        return ours.key == theirs.key
    if mounts.unresponsive_reason(theirs.key) is not None:
        return False
    if (entry := entry_of(ours.key)) is not None and entry == entry_of(theirs.key):
        return True
    if not (ours.is_attributes_only and theirs.is_attributes_only):
        return False
    shared = hard_link_of(ours.key)
    return shared is not None and shared == hard_link_of(theirs.key)
