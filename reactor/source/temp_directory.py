"""A temporary directory for a download. If its process is killed before removing it, the next process does so."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "download-"


@contextmanager
def scratch(within: Path) -> Iterator[Path]:
    """Yield an empty directory in ``within``, and remove it at the end of the block.

    A lock marks it as in use. The kernel releases the lock when the process ends.
    """
    _sweep(within)
    path, lock = _made(within)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def is_scratch(path: Path) -> bool:
    """Whether ``path`` is a directory of `scratch`, in use or left behind."""
    return path.name.startswith(PREFIX)


def _made(within: Path) -> tuple[Path, int]:
    """Create and lock a directory. If another process removed it before it was locked, create another."""
    while True:
        path = Path(tempfile.mkdtemp(dir=within, prefix=PREFIX))
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.is_dir():
                return path, lock
            os.close(lock)


def _sweep(within: Path) -> None:
    """Remove the directories that no process has locked."""
    for path in within.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
