"""Which former versions have to go, so that backups never fill the disk. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reactor.backup.entry import Name

_BLOCK = 4096
_LOW_WATER = 7 / 8
"""Pruning goes down to this part of the total, so that the next version does not call for it again."""


class Limits(NamedTuple):
    """What may be kept: bytes of one file, bytes on the disk in all, seconds, and versions of one path."""

    file: int = 8 << 20
    total: int = 256 << 20
    age: float = 30 * 86400.0
    versions: int = 100


def cost(size: int) -> int:
    """The bytes on the disk of a file of ``size`` bytes."""
    return -(-size // _BLOCK) * _BLOCK


ENTRY_COST = _BLOCK
"""The bytes on the disk of one entry, its object aside."""


def survivors(
    names: Iterable[Name], sizes: Mapping[str, int], limits: Limits, now: int
) -> tuple[set[Name], int]:
    """Those of ``names`` that stay, and the bytes they take. The oldest go first.

    ``sizes`` has the size of each object there is: an entry without one goes. ``now`` is in nanoseconds.
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
