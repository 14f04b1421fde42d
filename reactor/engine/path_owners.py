"""Which resource manages which file, by whatever path: a second one that wants it otherwise is refused.

The graph refuses two names of one file when the manifest is loaded, as far as the directories are there. This
finds what came into being later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactor.engine.roster import Roster
from reactor.resource.claim import CHANGING_SPACES, FILE_SPACES, Claim
from reactor.resource.fragile import FragileMounts
from reactor.resource.plan import ResourceError
from reactor.resource.real_paths import DirectoryEntry, entry_of, hard_link_of

_Key = tuple[str, DirectoryEntry | str]


class PathOwners:
    """The vertices that claim files. Who came first keeps its file; who disagrees is refused, and never changes it."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._owners: dict[_Key, tuple[int, ...]] = {}
        self._known: set[int] = set()

    def __contains__(self, vertex: int) -> bool:
        return vertex in self._known

    def admit(self, vertex: int, mounts: FragileMounts) -> None:
        """Enter what ``vertex`` claims. Raises ResourceError when another resource wants something else there.

        Its paths are looked at, as far as ``mounts`` let them.
        """
        for claim in self._roster.resources[vertex].claims():
            for key in _keys(claim, mounts):
                owners = [
                    each for each in self._owners.get(key, ()) if each in self._known and each != vertex
                ]
                for other in owners:
                    self._compare(vertex, claim, key, other, mounts)
                self._owners[key] = (*owners, vertex)
        self._known.add(vertex)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` manage nothing any more."""
        self._known.difference_update(vertices)

    def _compare(self, vertex: int, claim: Claim, key: _Key, other: int, mounts: FragileMounts) -> None:
        """Raise ResourceError if ``other`` wants something else of what ``key`` still stands for."""
        resource = self._roster.resources[other]
        for theirs in resource.claims():
            attributes = claim.disagreement(theirs)
            if attributes and key in _keys(theirs, mounts):
                self._known.discard(vertex)
                where = f" ({resource.place})" if resource.place else ""
                same = f"the {claim.space} {claim.key}"
                if theirs.key != claim.key:
                    same = f"{claim.key} is {theirs.key} as well"
                words = f"{same}: {resource.ref}{where} wants another {' and '.join(attributes)}"
                raise ResourceError(words, "take one of them away, or let them want the same")


def _keys(claim: Claim, mounts: FragileMounts) -> Iterator[_Key]:
    """What the thing that is claimed has as its own, if it is a file. To write content gives a file one name only."""
    if claim.space not in CHANGING_SPACES:
        return
    if claim.space not in FILE_SPACES:
        yield claim.space, claim.key
        return
    if mounts.silence(claim.key) is not None:
        return
    if (entry := entry_of(claim.key)) is not None:
        yield claim.space, entry
    is_attributes_only = claim.wishes.get("ensure") == "present" and "content" not in claim.wishes
    if is_attributes_only and (shared := hard_link_of(claim.key)) is not None:
        yield claim.space, shared
