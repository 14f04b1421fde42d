"""Which files of a directory go, and when."""

from __future__ import annotations

import math
import os
import re
import stat
from fnmatch import fnmatchcase
from typing import NamedTuple

_SIZE = re.compile(r"(\d+)\s*([kKmMgGtT]?)(?:i?[bB])?")
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(value: object) -> int:
    """The bytes in ``500k``, ``10M``, ``1G`` or a number; the units are powers of 1024. Raises ValueError."""
    if isinstance(value, bool) or (match := _SIZE.fullmatch(str(value))) is None:
        raise ValueError(f"{value!r} is not a size: write it as 500k, 10M or 1G")
    return int(match[1]) << 10 * _UNITS[match[2].lower()]


def shown_size(size: int) -> str:
    """The size in words."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1 << 10:
            return f"{size} {unit}"
        size >>= 10
    return f"{size} GiB"


class Rule(NamedTuple):
    """All that is given must hold for a file to go. ``age`` is in seconds, ``stamp`` one of mtime, atime and ctime."""

    age: float | None
    size: int | None
    patterns: tuple[str, ...]
    stamp: str

    def due_at(self, name: str, found: os.stat_result) -> float:
        """The time, as time.time(), at which the file ``name`` goes; math.inf for never, unless it changes.

        Only regular files and symlinks go.
        """
        kind = stat.S_IFMT(found.st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFLNK):
            return math.inf
        if self.patterns and not any(fnmatchcase(name, pattern) for pattern in self.patterns):
            return math.inf
        if self.size is not None and (kind == stat.S_IFLNK or found.st_size < self.size):
            return math.inf
        return self.old_at(found)

    def old_at(self, found: os.stat_result) -> float:
        """The time at which something with this stat is old enough."""
        return 0.0 if self.age is None else float(getattr(found, f"st_{self.stamp}")) + self.age
