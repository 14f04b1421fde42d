"""Writes our own small files so that readers, and a crash, see the old content or the new one and never a mix."""

from __future__ import annotations

import os
import tempfile


def replace_file(path: str, content: bytes, mode: int) -> None:
    """Put a file with ``content`` at ``path``, which is on the disk when this returns. Raises OSError."""
    directory, name = os.path.split(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=directory)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):  # a full disk names no file
            raise OSError(error.errno, error.strerror, path) from error
        raise
    sync_directory(directory)


def sync_directory(directory: str) -> None:
    """Return when the names in ``directory`` are on the disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
