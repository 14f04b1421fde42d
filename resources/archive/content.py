"""The bytes of an archive: those that were compared are those that are unpacked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from reactor import ResourceError
from reactor.hostfs import digest_of, is_only_ours, open_content

_COPY = os.O_RDWR | os.O_CLOEXEC


@dataclass(slots=True)
class Expected:
    """The SHA-256 of the archive that is to be unpacked, in hex; None until it is known."""

    checksum: str | None


def digest_of_ours(path: str) -> str | None:
    """The SHA-256 of the archive at ``path`` if nobody else can have written to it, else None. Blocking. Raises OSError."""
    try:
        fd = open_content(path)
    except (FileNotFoundError, ResourceError):
        return None
    try:
        return digest_of(fd) if is_only_ours(os.fstat(fd)) else None
    finally:
        os.close(fd)


@contextmanager
def verified(path: str, checksum: str | None, staging: int, most: int) -> Iterator[str]:
    """A path that leads to the bytes of the archive at ``path``, which have this SHA-256, for a block.

    Where others may write to the archive, they are those of a copy in the directory open at ``staging``, which is ours;
    more than ``most`` bytes are not copied. Blocking. Raises ResourceError when the archive holds something else by now, and OSError.
    """
    fd = open_content(path)
    try:
        if is_only_ours(os.fstat(fd)):
            found = digest_of(fd) if checksum is not None else ""
        else:
            original, fd = fd, _unnamed(staging)
            try:
                found = digest_of(original, copy=fd, most=most)
            finally:
                os.close(original)
        if found is None or (checksum is not None and found != checksum):
            hint = "see who may write to it; the next attempt fetches it again"
            raise ResourceError(f"{path} was changed after it had been verified", hint)
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _unnamed(directory: int) -> int:
    """A new file without a name in the directory: a crash leaves nothing of it."""
    with suppress(OSError):  # not every file system has O_TMPFILE
        return os.open(".", _COPY | os.O_TMPFILE, 0o600, dir_fd=directory)
    fd = os.open("copy", _COPY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    os.unlink("copy", dir_fd=directory)
    return fd
