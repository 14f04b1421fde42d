"""What a file holds, as a number to compare with."""

from __future__ import annotations

import hashlib
import os
import stat

from reactor.hostfs.safe_open import open_source


def checksum_of(path: str) -> str | None:
    """The SHA-256 of the content of the regular file at ``path``, in hex; None for anything else.

    A symlink to it is followed. Raises OSError, and ResourceError as `open_source`.
    """
    try:
        descriptor = open_source(path)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(
            descriptor, "rb", closefd=False
        ) as file:  # of a directory it would raise, and close nothing
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        os.close(descriptor)
