"""The directory that holds downloads in progress. Other users can't reach it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor.hostfs.private import private_directory
from reactor.resource.backup_store import state_directory

_FOLDER = "downloads"
_OLDEST = 24 * 60 * 60.0
"""Seconds after which an unfinished download is removed: its resource or its server is gone."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_downloads() -> Iterator[int]:
    """Open the directory of downloads for a block. Yields its descriptor.

    In the state directory, downloads survive this process; without a state directory, they are removed after the
    block. Raises OSError.
    """
    state = state_directory.get()
    if state is None:
        with private_directory() as path, _opened(path) as descriptor:
            yield descriptor
        return
    path = f"{state}/{_FOLDER}"
    os.makedirs(path, 0o700, exist_ok=True)
    with _opened(path) as descriptor:
        yield descriptor


def remove_old_downloads(state: str) -> None:
    """Remove the downloads below the state directory ``state`` that were not continued for a day. Blocking.

    A download that a process has locked stays, and so does one that can't be removed.
    """
    with suppress(OSError), _opened(f"{state}/{_FOLDER}") as directory:
        for name in os.listdir(directory):
            with suppress(OSError):
                _remove_old(name, directory)


def _remove_old(name: str, directory: int) -> None:
    descriptor = os.open(name, _FILE, dir_fd=directory)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_mtime < time.time() - _OLDEST:
            os.unlink(name, dir_fd=directory)
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
