"""What a file holds, as a number to compare with."""

from __future__ import annotations

import hashlib
import os
import stat


def checksum_of(path: str) -> str | None:
    """The SHA-256 of the content of the regular file at ``path``, in hex; None for anything else. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return hashlib.file_digest(file, "sha256").hexdigest()
