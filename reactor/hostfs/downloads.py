"""Where downloads go before they are put in place, out of reach of everybody else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from reactor.hostfs.private import private_directory
from reactor.resource.keeping import state_directory

_FOLDER = "downloads"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_downloads() -> Iterator[int]:
    """A descriptor of a directory of ours: in the state directory, where what is there survives, else for a block only.

    Raises OSError.
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


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
