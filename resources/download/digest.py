"""The SHA-256 of what is open."""

from __future__ import annotations

import hashlib
import os

_PIECE = 1 << 20


def digest_of(fd: int, copy: int | None = None) -> str:
    """The SHA-256 in hex of what is open at ``fd``, which is copied to ``copy`` on the way. Blocking. Raises OSError."""
    digest = hashlib.sha256()
    offset = 0
    while data := os.pread(fd, _PIECE, offset):
        offset += len(data)
        digest.update(data)
        view = memoryview(data)
        while copy is not None and view:
            view = view[os.write(copy, view) :]
    return digest.hexdigest()
