"""Computes digests of files.

A file below a directory of another user may have any length: a sparse file of 16 TiB takes hours to read. So a
cancelled reader stops before the end of the file, and a caller that knows the greatest allowed length passes it.
"""

from __future__ import annotations

import os
import stat

from reactor.hostfs.safe_open import open_source
from reactor.resource.threads import stop_if_cancelled

_PIECE = 1 << 20


def checksum_of(path: str) -> str | None:
    """The SHA-256 of the regular file at ``path``, in hex; None for anything else. Blocking.

    A symlink to it is followed. Raises OSError, and ResourceError as `open_source` does.
    """
    try:
        descriptor = open_source(path)
    except FileNotFoundError:
        return None
    try:
        return digest_of(descriptor) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


def digest_of(
    fd: int, algorithm: str = "sha256", *, copy: int | None = None, most: int | None = None
) -> str | None:
    """The digest in hex of the whole file open at ``fd``; the content is also written to ``copy``, if given. Blocking.

    None for a file of more than ``most`` bytes. It is not read; if it grows beyond that meanwhile, the reading ends.
    Raises OSError, and trio.Cancelled when the caller of its thread is cancelled.
    """
    import hashlib  # noqa: PLC0415 - see `reactor.resource.hashes`

    if most is not None and os.fstat(fd).st_size > most:
        return None
    digest = hashlib.new(algorithm)
    offset = 0
    while data := os.pread(fd, _PIECE, offset):
        stop_if_cancelled()
        offset += len(data)
        if most is not None and offset > most:
            return None
        digest.update(data)
        view = memoryview(data)
        while copy is not None and view:
            view = view[os.write(copy, view) :]
    return digest.hexdigest()
