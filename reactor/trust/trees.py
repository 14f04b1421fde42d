"""Requires that only trusted users can change anything in a tree of inputs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress

from reactor.trust.rule import Trust

_MOST = 500_000
"""The most entries of a tree that are looked at: that takes some seconds."""


def require_tree(trust: Trust, path: str) -> None:
    """Raise DistrustedError if another user could change what is in the directory ``path``, at any depth.

    Symlinks are followed. What is missing, or goes meanwhile, is accepted. Raises OSError, also if there is too much to
    look at.
    """
    with suppress(FileNotFoundError):
        trust.require_file(path)
    pending, seen, entries = [path], set[str](), 0
    while pending:
        if (directory := os.path.realpath(pending.pop())) in seen:
            continue
        seen.add(directory)
        for entry in _entries(directory):
            entries += 1
            if entries > _MOST:
                raise OSError(errno.E2BIG, f"there are more than {_MOST:,} files and directories in it", path)
            with suppress(FileNotFoundError):
                if entry.is_symlink():
                    trust.require_file(entry.path)
                else:
                    trust.require_entry(entry)
                if entry.is_dir():
                    pending.append(entry.path)


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(directory) as entries:
        yield from entries
