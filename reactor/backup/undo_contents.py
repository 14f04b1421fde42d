"""File contents kept for ``meta.reverse``: one per resource, on disk, until the resource has been undone.

The limits and the lock of the backups do not apply to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from reactor.atomic_write import sync_directory
from reactor.backup.entry import key_of
from reactor.resource.threads import stop_if_cancelled

_PIECE = 1 << 20


def keep_for_undo(directory: str, ref: str, fd: int) -> str:
    """Keep the content of the regular file open at ``fd``, from its offset on; return the path of the copy.

    The name depends on the resource, so a second attempt replaces the copy of a killed one. Content that is appended
    to the file meanwhile is omitted, because the appending might never end. Raises OSError.
    """
    target = f"{directory}/{key_of(ref)}"
    os.makedirs(directory, 0o700, exist_ok=True)
    with open(fd, "rb", closefd=False) as source, open(f"{target}.new", "wb", opener=_private) as copy:
        left = os.fstat(fd).st_size
        while left > 0 and (data := source.read(min(_PIECE, left))):
            stop_if_cancelled()
            copy.write(data)
            left -= len(data)
        copy.flush()
        os.fsync(copy.fileno())
    os.rename(f"{target}.new", target)
    sync_directory(directory)
    return target


def free_all_but(directory: str, refs: Iterable[str]) -> None:
    """Delete the contents that are kept for resources other than ``refs``."""
    wanted = {key_of(ref) for ref in refs}
    with suppress(OSError):  # `keep_for_undo` will meet and report the same error
        for name in os.listdir(directory):
            if name not in wanted:
                os.unlink(f"{directory}/{name}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
