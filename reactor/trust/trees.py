"""Requires that only trusted users can change anything in trees of directories: of inputs, or of our own program."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from reactor.trust.rule import Trust

_MOST = 500_000
"""The most entries of a tree that are looked at: that takes some seconds."""


def require_trees(trust: Trust, paths: Iterable[str], *, hidden: bool = True) -> None:
    """Raise DistrustedError if another user could change one of ``paths``, or what is in those directories, at any depth.

    Symlinks are followed. What is missing, or goes meanwhile, is accepted. Unless ``hidden``, names that begin with a dot
    are left out. Raises OSError, also if there is too much to look at.
    """
    pending, seen, entries = [*paths], set[str](), 0
    for path in pending:
        with suppress(FileNotFoundError, NotADirectoryError):
            trust.require_file(path)
    while pending:
        if (directory := os.path.realpath(pending.pop())) in seen:
            continue
        seen.add(directory)
        for entry in _entries(directory):
            if entry.name.startswith(".") and not hidden:
                continue
            entries += 1
            if entries > _MOST:
                words = f"there are more than {_MOST:,} files and directories in it"
                raise OSError(errno.E2BIG, words, directory)
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
