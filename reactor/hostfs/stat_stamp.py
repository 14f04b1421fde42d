"""Stamps: the fields of a stat that show whether a file has changed since it was read."""

from __future__ import annotations

import os

Stamp = tuple[int, ...]

_SECOND_NS = 1_000_000_000
_SETTLING_NS = 20_000_000
_SETTLING_COARSE_NS = 2 * _SECOND_NS + _SETTLING_NS


def stamp_of(found: os.stat_result) -> Stamp:
    """The fields of a stat that change whenever the file changes."""
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
    """Whether any later change will certainly change the stamp of ``found``. ``now_ns`` was read before that stat.

    Kernels may advance file times in ticks of up to 10 ms: a second write in the same tick leaves the stamp unchanged.
    File systems with times in whole seconds, such as ext3, ext4 with inodes of 128 bytes, and FAT, need one or two
    seconds. A time in the future means that the clock was set, and is not reliable either.
    """
    age = now_ns - found.st_ctime_ns
    return age >= _SETTLING_COARSE_NS or (age >= _SETTLING_NS and found.st_ctime_ns % _SECOND_NS != 0)
