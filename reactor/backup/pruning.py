"""Selects the versions to delete, so that backups never fill the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from reactor.backup.entry import Name

_BLOCK = 4096
_LOW_WATER = 7 / 8
"""Pruning goes down to this share of the limit, so that the next version does not cause it again."""


class Limits(NamedTuple):
    """Limits of the backups: bytes of one file, bytes on disk in total, seconds, and versions of one path."""

    file: int = 8 << 20
    total: int = 256 << 20
    age: float = 30 * 86400.0
    versions: int = 100


def cost(size: int) -> int:
    """The bytes on disk of a file of ``size`` bytes."""
    return -(-size // _BLOCK) * _BLOCK


ENTRY_COST = _BLOCK
"""The bytes on disk of one entry, without its object."""


class Retention:
    """Decides which entries stay. Ask `keeps` for each entry once, the newest first.

    ``size_of`` returns the size of the object of a digest, or None if there is none: an entry without an object is
    deleted. ``now`` is in nanoseconds. ``used`` are the bytes on disk of the entries that stay.
    """

    def __init__(self, size_of: Callable[[str], int | None], limits: Limits, now: int) -> None:
        self._size_of = size_of
        self._room = limits.total * _LOW_WATER
        self._oldest = now - limits.age * 1e9
        self._versions = limits.versions
        self._of_path: Counter[str] = Counter()
        self._digests: set[bytes] = set()  # half the memory of the digits; there may be 50,000
        self._is_full = False
        self.used = 0

    def keeps(self, name: Name) -> bool:
        """Whether the entry stays. After the first one that is too old or does not fit, none stays."""
        if self._is_full or self._of_path[name.key] >= self._versions:
            return False
        used = self.used + ENTRY_COST
        if not self.keeps_object(name.digest):
            if (size := self._size_of(name.digest)) is None:
                return False
            used += cost(size)
        if used > self._room or name.time < self._oldest:
            self._is_full = True
            return False
        self.used = used
        self._of_path[name.key] += 1
        self._digests.add(bytes.fromhex(name.digest))
        return True

    def keeps_object(self, digest: str) -> bool:
        """Whether an entry that stays has the object of this digest."""
        return bytes.fromhex(digest) in self._digests
