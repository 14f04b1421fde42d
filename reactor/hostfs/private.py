"""Makes private copies of files, for programs that must read them while other users can't replace them."""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor.hostfs.attributes import Attributes
from reactor.resource.backup_store import state_directory
from reactor.resource.threads import stop_if_cancelled

_FOLDER = "private"
_CHUNK = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def private_copy(fd: int, name: str, attributes: Attributes, *, most: int | None = None) -> Iterator[str]:
    """Copy the file open at ``fd`` into a directory that only we can enter, as ``name``. Yields the path of the copy.

    The copy has these ``attributes`` and at most the first ``most`` bytes, and is removed after the block. Raises
    OSError.
    """
    with private_directory() as directory:
        path = f"{directory}/{name}"
        copy = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _copy(fd, copy, math.inf if most is None else most)
            os.fchown(copy, attributes.uid, attributes.gid)
            os.fchmod(copy, attributes.mode)
        finally:
            os.close(copy)
        yield path


@contextmanager
def private_directory() -> Iterator[str]:
    """Make a directory with mode 0700, and remove it after the block. Yields its path.

    It is in the state directory, if there is one. `remove_private` removes the directories of killed runs. Raises
    OSError.
    """
    import shutil  # noqa: PLC0415 - imports compressors, and few runs need it
    import tempfile  # noqa: PLC0415

    above = state_directory.get()
    if above is not None:
        above = f"{above}/{_FOLDER}"
        os.makedirs(above, 0o700, exist_ok=True)
    path = tempfile.mkdtemp(prefix="reactor-", dir=above)
    lock = os.open(path, _DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_private(state: str) -> None:
    """Remove the private directories that killed processes left in the state directory ``state``."""
    above = f"{state}/{_FOLDER}"
    with suppress(OSError):
        for name in os.listdir(above):
            fd = os.open(f"{above}/{name}", _DIRECTORY)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                from shutil import rmtree  # noqa: PLC0415 - imports compressors, and few runs need it

                rmtree(f"{above}/{name}", ignore_errors=True)
            except BlockingIOError:
                continue
            finally:
                os.close(fd)


def _copy(source: int, target: int, most: float) -> None:
    offset = 0
    while data := os.pread(source, int(min(_CHUNK, most - offset)), offset):
        stop_if_cancelled()
        offset += len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]
