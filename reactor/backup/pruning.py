"""Deletes versions, so that backups never fill the disk, in constant memory: there may be 50,000 versions.

It reads the directories several times instead of sorting all names: a run that prunes each hour keeps its size.
"""

from __future__ import annotations

import heapq
import os
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from reactor.backup.entry import Name, is_digest, pack, parse_name, unpack
from reactor.named_tuple import NamedTuple

_BLOCK = 4096
_LOW_WATER = 7 / 8
"""Pruning goes down to this share of the limit, so that the next version does not cause it again."""
_OLDEST_AT_ONCE = 1024
"""The number of entries selected by one reading of the directory."""
_BUCKETS_AT_ONCE = 32
"""The number of buckets whose newest entries are in memory at a time."""
_MARKED_DIGITS = 5


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


def names_in(entries: str) -> Iterator[Name]:
    """The names of all entries in the directory ``entries``, one at a time."""
    with suppress(FileNotFoundError), os.scandir(entries) as found:
        for each in found:
            if (name := parse_name(each.name)) is not None:
                yield name


def prune(entries: str, objects: str, limits: Limits, now: int) -> int:
    """Delete entries over ``limits``, objects that no entry has, and incomplete files. Returns the bytes left on disk.

    ``entries`` and ``objects`` are directories, ``now`` is in nanoseconds since 1970. No version may be added
    meanwhile. Of a path, and in total, the newest versions stay. Raises OSError.
    """
    pruning = _Pruning(entries, objects, limits)
    pruning.delete_old_and_incomplete(now - limits.age * 1e9)
    pruning.delete_surplus_of_paths()
    pruning.delete_objects_without_entry()
    pruning.delete_oldest_until(limits.total * _LOW_WATER)
    return pruning.used


class _Pruning:
    """One pruning. ``used`` are the bytes on disk, known after `delete_objects_without_entry`."""

    def __init__(self, entries: str, objects: str, limits: Limits) -> None:
        self._entries = entries
        self._objects = objects
        self._versions = limits.versions
        self._count = 0
        """The number of entries that are left."""
        self.used = 0

    def delete_old_and_incomplete(self, oldest: float) -> None:
        """Delete entries from before ``oldest`` (in nanoseconds) or without an object, and other files."""
        with os.scandir(self._entries) as found:
            for each in found:
                name = parse_name(each.name)
                if name is None or name.time < oldest or self._size(name.digest) is None:
                    os.unlink(each.path)
                else:
                    self._count += 1

    def delete_surplus_of_paths(self) -> None:
        """Delete the oldest versions of each path that has too many."""
        if self._count <= self._versions:  # no path can have too many: most runs end here
            return
        full = [bucket for bucket, count in enumerate(self._counts()) if count > self._versions]
        for first in range(0, len(full), _BUCKETS_AT_ONCE):
            self._delete_surplus(frozenset(full[first : first + _BUCKETS_AT_ONCE]))

    def _counts(self) -> array[int]:
        """The number of entries in each bucket. A bucket has the paths whose keys begin with the same four digits."""
        counts = array("I", bytes(array("I").itemsize << 16))
        for name in names_in(self._entries):
            counts[_bucket(name)] += 1
        return counts

    def _delete_surplus(self, buckets: frozenset[int]) -> None:
        newest: dict[str, list[bytes]] = {}
        for name in names_in(self._entries):
            if _bucket(name) in buckets:
                heap = newest.setdefault(name.key, [])
                heapq.heappush(heap, pack(name))
                if len(heap) > self._versions:
                    self._delete(unpack(heapq.heappop(heap)))

    def delete_objects_without_entry(self) -> None:
        """Delete them, and set ``used``.

        An entry marks one bit for its object. Of a million bits, 50,000 objects mark 5 %, others at each pruning: the
        few that are missed today are deleted later.
        """
        first = os.urandom(1)[0] % (64 - _MARKED_DIGITS)
        marks = bytearray(16**_MARKED_DIGITS // 8)
        for name in names_in(self._entries):
            byte, bit = _mark(name.digest, first)
            marks[byte] |= bit
            self.used += ENTRY_COST
        with os.scandir(self._objects) as found:
            for each in found:
                byte, bit = _mark(each.name, first) if is_digest(each.name) else (0, 0)
                if marks[byte] & bit:
                    self.used += cost(each.stat(follow_symlinks=False).st_size)
                else:
                    os.unlink(each.path)

    def delete_oldest_until(self, room: float) -> None:
        """Delete the oldest entries, and the objects that only they have, until ``used`` is at most ``room``."""
        while self.used > room:
            oldest = heapq.nsmallest(_OLDEST_AT_ONCE, map(pack, names_in(self._entries)))
            if not oldest:
                return
            references = self._references({unpack(each).digest for each in oldest})
            for name in map(unpack, oldest):
                if self.used <= room:
                    return
                self._delete(name)
                self.used -= ENTRY_COST
                references[name.digest] -= 1
                if not references[name.digest]:
                    self.used -= cost(self._size(name.digest) or 0)
                    os.unlink(f"{self._objects}/{name.digest}")

    def _references(self, digests: set[str]) -> Counter[str]:
        """The number of entries that have each of ``digests``."""
        return Counter(name.digest for name in names_in(self._entries) if name.digest in digests)

    def _delete(self, name: Name) -> None:
        os.unlink(f"{self._entries}/{name}")

    def _size(self, digest: str) -> int | None:
        """The size of an object, or None if there is none."""
        return size_of(f"{self._objects}/{digest}")


def size_of(path: str) -> int | None:
    """The size of a file in bytes, or None if there is none. Raises OSError."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def _bucket(name: Name) -> int:
    return int(name.key[:4], 16)


def _mark(digest: str, first: int) -> tuple[int, int]:
    """The byte, and the bit in it, for the object ``digest``: they are made of its digits from ``first`` on."""
    number = int(digest[first : first + _MARKED_DIGITS], 16)
    return number >> 3, 1 << (number & 7)
