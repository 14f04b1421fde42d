"""Finds out who holds a lock (F_SETLK) on a file, as package managers lock their databases."""

from __future__ import annotations

import fcntl
import os
import struct

_FLOCK = "hhqqi0q"
_WHOLE_FILE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def lock_holder(path: str) -> int | None:
    """The process that holds the lock on the file at ``path``; None if there is none, or it can't be found out."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return (
            None  # a missing file was never locked; if we may not open it, we can't change what it protects
        )
    try:
        kind, _, _, _, holder = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, _WHOLE_FILE))
    finally:
        os.close(fd)
    return None if kind == fcntl.F_UNLCK else holder
