"""A directory for what is being fetched. It goes with its process; where that was killed, the next one removes it."""

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
    """An empty directory in ``within`` for a block; afterwards it is gone.

    A lock says that somebody still needs it. The kernel gives that back when a process ends, however it does.
    """
    _sweep(within)
    path, lock = _made(within)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def is_scratch(path: Path) -> bool:
    """Whether it is such a directory, somebody's or nobody's."""
    return path.name.startswith(PREFIX)


def _made(within: Path) -> tuple[Path, int]:
    """A new one and its lock. Who sweeps may take one that is not locked yet for left behind: then there is another."""
    while True:
        path = Path(tempfile.mkdtemp(dir=within, prefix=PREFIX))
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.is_dir():
                return path, lock
            os.close(lock)


def _sweep(within: Path) -> None:
    """Remove what no living process holds."""
    for path in within.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
