"""Directories by descriptor: what is done through one is done there, whatever takes the place of the path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_directory(path: str, within: int | None = None) -> Iterator[int]:
    """A descriptor of the directory at ``path``, from the directory open at ``within`` on, for a block.

    A symlink there is an error. Raises OSError.
    """
    descriptor = os.open(path, _FLAGS, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def may_be_directory(path: str) -> bool:
    """Whether ``path`` is a directory, or nothing that keeps one from being made there."""
    return os.path.isdir(path) or not os.path.lexists(path)
