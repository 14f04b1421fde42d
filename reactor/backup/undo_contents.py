"""Contents that are held for resources that can be undone: one for each, on the disk, until it was.

Neither the limits of former versions nor their locks are about these.
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
    """Hold what the regular file open at ``fd`` holds from where it stands; returns the path of a file with the same. Raises OSError.

    What is added to the file meanwhile is left out: it might never end. It has its name by resource: a second attempt replaces what a killed one has left.
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
    """Free what is held for others than ``refs``."""
    wanted = {key_of(ref) for ref in refs}
    with suppress(OSError):  # holding meets the same error, and tells it
        for name in os.listdir(directory):
            if name not in wanted:
                os.unlink(f"{directory}/{name}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
