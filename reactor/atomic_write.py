"""Writes our own small files atomically: a reader gets the old or the new content, never a mix, also after a crash."""

from __future__ import annotations

import os


def replace_file(path: str, content: bytes, mode: int) -> None:
    """Replace the file at ``path`` by one with ``content``, and flush it to disk. Raises OSError."""
    import tempfile  # noqa: PLC0415 - imports compressors, and few runs need it

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
        if isinstance(error, OSError):  # the error for a full disk has no file name
            raise OSError(error.errno, error.strerror, path) from error
        raise
    sync_directory(directory)


def sync_directory(directory: str) -> None:
    """Flush the entries of ``directory`` to disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
