"""Selects the versions to delete, so that backups never fill the disk. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
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


def survivors(
    names: Iterable[Name], sizes: Mapping[str, int], limits: Limits, now: int
) -> tuple[set[Name], int]:
    """The entries in ``names`` to keep, and their bytes on disk. The oldest are deleted first.

    ``sizes`` has the size of each existing object: an entry without one is deleted. ``now`` is in nanoseconds.
    """
    stay: set[Name] = set()
    used = 0
    digests: set[str] = set()
    of_path: Counter[str] = Counter()
    for name in sorted(names, key=lambda name: name.time, reverse=True):
        if name.digest not in sizes or of_path[name.key] >= limits.versions:
            continue
        more = ENTRY_COST + (0 if name.digest in digests else cost(sizes[name.digest]))
        if used + more > limits.total * _LOW_WATER or now - name.time > limits.age * 1e9:
            break
        used += more
        digests.add(name.digest)
        of_path[name.key] += 1
        stay.add(name)
    return stay, used
