"""Removes the locks that a killed git has left in a checkout: no git ever does, and each later one would fail."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from reactor.hostfs import ErrorContext, open_path, remove_path

_LOCK_AGE = 5.0
"""Seconds after which a lock is one that was left: a git of ours is killed with us, but may take a moment to end."""

_PACKING = 60.0
"""The same for the lock of packed-refs, which a kill may leave without a mark: packing many refs takes longer."""


_SKIPPED = frozenset(("objects", "logs", "hooks"))
"""Directories of a repository in which no lock makes a later git fail."""


async def remove_module_locks(path: str) -> None:
    """Remove the old locks in the repositories of all submodules of the checkout at ``path``. Raises ResourceError."""
    top = f"{path}/.git"
    names = []
    for directory, below, files in os.walk(f"{top}/modules"):
        below[:] = [name for name in below if name not in _SKIPPED]
        locks = (f"{directory}/{name}" for name in files if name.endswith(".lock"))
        names += [lock.removeprefix(f"{top}/").removesuffix(".lock") for lock in locks]
    await remove_old_locks(path, names)


async def remove_mark_locks(path: str, mark: str) -> None:
    """Remove the old locks of ``mark``, a ref that only we write, and of its removal. Raises ResourceError."""
    await remove_old_locks(path, (mark,))
    await remove_old_locks(path, ("packed-refs",), age=_PACKING)


async def remove_old_locks(path: str, names: Iterable[str], age: float = _LOCK_AGE) -> None:
    """Remove the locks of ``names``, files in the ``.git`` of the checkout at ``path``, older than ``age`` in seconds.

    Raises ResourceError.
    """
    for name in names:
        lock = f"{path}/.git/{name}.lock"
        with ErrorContext(f"inspect {lock}"):
            try:
                fd = open_path(lock)
            except (FileNotFoundError, NotADirectoryError):
                continue
            try:
                made = os.fstat(fd).st_mtime
            finally:
                os.close(fd)
        if time.time() - made > age:
            await remove_path(lock, recursive=False)
