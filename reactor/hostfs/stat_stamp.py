"""Stamps: proof, by one stat, that a file has not moved since it was read."""

from __future__ import annotations

import os

Stamp = tuple[int, ...]

_SECOND_NS = 1_000_000_000
_SETTLING_NS = 20_000_000
_SETTLING_COARSE_NS = 2 * _SECOND_NS + _SETTLING_NS


def stamp_of(found: os.stat_result) -> Stamp:
    """What changes with every change of a file."""
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_mode,
        found.st_uid,
        found.st_gid,
    )


def stamp_is_reliable(found: os.stat_result, now_ns: int) -> bool:
    """Whether a stamp taken from ``found`` proves anything; ``now_ns`` was read before that stat.

    Older kernels stamp by a tick of up to 10 ms: a second write in the same tick leaves the stamp as it is. So it does
    in the same second or two on a file system that keeps no more than that, as ext3, ext4 with inodes of 128 bytes, and
    FAT: their times are whole seconds. A time in the future means that the clock was set, and proves nothing either.
    """
    age = now_ns - found.st_ctime_ns
    return age >= _SETTLING_COARSE_NS or (age >= _SETTLING_NS and found.st_ctime_ns % _SECOND_NS != 0)
