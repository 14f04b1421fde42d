"""Creates a file for a file system: it gets its name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from reactor import ResourceError, in_thread
from reactor.hostfs import Parent

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def refuse_full(path: str, directory: int, size: int) -> None:
    """Raise ResourceError when the file system of the open ``directory`` has less than ``size`` bytes left. Raises OSError."""
    there = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        found = os.fstatvfs(there)
    finally:
        os.close(there)
    if found.f_bavail * found.f_frsize < size:
        words = f"there is no room for the {size >> 20} MiB of {path}"
        raise ResourceError(words, "free some, or write a smaller size")


@asynccontextmanager
async def created(path: str, size: int) -> AsyncIterator[int]:
    """Yield the descriptor of a new file of ``size`` bytes, whose blocks are allocated. At the end it becomes ``path``.

    What an interrupted call has left is removed before. Raises OSError, also for a ``path`` that exists by then.
    """
    with Parent(path) as (directory, base):
        temporary = f".{base}.reactor-new"
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        fd = os.open(temporary, _FLAGS, 0o600, dir_fd=directory)
        try:
            await in_thread(os.posix_fallocate, fd, 0, size)
            yield fd
            await in_thread(os.fsync, fd)
            os.link(temporary, base, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        finally:
            os.close(fd)
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=directory)
