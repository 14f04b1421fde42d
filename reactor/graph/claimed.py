"""Which resources claim which paths and units, indexed while the graph is built, for questions while it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from reactor.resource.claim import FILE_SPACES, UNITS, Claim
from reactor.resource.real_paths import RealPaths

DirectoryId = tuple[int, int]
"""Device and inode."""


@dataclass(slots=True)
class Claimed:
    """The refs of the resources that claim things which two names may stand for.

    ``by_path`` has those of each claimed path, ``paths`` the paths of each. ``directories`` has the parent directories of
    these paths, as they were named, by what they were at the last look; those that were missing are not among them.
    ``attributes_only`` has the paths whose content nobody manages, by claimant. ``repeated_names`` are the last components that
    several claims have. ``units`` are the refs of those that claim units.
    """

    by_path: dict[str, tuple[str, ...]] = field(default_factory=dict)
    repeated_names: set[str] = field(default_factory=set)
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    directories: dict[DirectoryId, set[str]] = field(default_factory=dict)
    attributes_only: dict[str, list[str]] = field(default_factory=dict)
    units: dict[str, None] = field(default_factory=dict)
    _ids: dict[str, DirectoryId] = field(default_factory=dict)

    @classmethod
    def of(cls, claims: Iterable[tuple[int, Claim]], refs: Sequence[str], real_paths: RealPaths) -> Claimed:
        """The index of ``claims``, which come with the numbers of ``refs``."""
        claimed = cls()
        parents, names = set[str](), set[str]()
        for vertex, claim in claims:
            ref = refs[vertex]
            if claim.space == UNITS:
                claimed.units[ref] = None
            elif claim.space in FILE_SPACES:
                claimed.by_path[claim.key] = (*claimed.by_path.get(claim.key, ()), ref)
                claimed.paths[ref] = (*claimed.paths.get(ref, ()), claim.key)
                parent, _, name = claim.key.rpartition("/")
                parents.add(parent)
                (claimed.repeated_names if name in names else names).add(name)
                if claim.is_attributes_only:
                    claimed.attributes_only.setdefault(ref, []).append(claim.key)
        for parent in parents:
            if (found := real_paths.directory_id(parent)) is not None:
                claimed.names_of(parent, found)
        return claimed

    def names_of(self, directory: str, found: DirectoryId) -> Collection[str]:
        """All names of ``directory``, which is ``found`` now. It is no name any more of what it was before."""
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
