"""Looks up single paths for the tree of watched paths."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

_BATCH = 100
"""Names of a directory that are examined without a pause, which takes a fifth of a millisecond."""


_LONGEST_WAY = 50
"""The most components on the way to the target of a symlink. Each is watched, and another user can put 2,000 into a link."""


def target_of(link: bytes) -> bytes:
    """The target of a symlink. Raises OSError (ELOOP) when the link is part of a circle, or the way is very long."""
    # A dangling symlink is allowed: its target may be created later.
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(link)
    target = os.path.join(os.path.dirname(link), os.readlink(link))
    if len(components(target)) > _LONGEST_WAY:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), link)
    return target


def real_path(path: bytes) -> bytes:
    """The path without symlinks; the path itself if it leads nowhere now.

    The kernel follows at most 40 symlinks. os.path.realpath follows as many as another user has made.
    """
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return path
    try:
        return os.readlink(b"/proc/self/fd/%d" % fd)
    finally:
        os.close(fd)


def components(path: bytes) -> list[bytes]:
    """The components of a path."""
    # ".." stays: after a symlink, it does not undo the component before it.
    return [name for name in path.split(b"/") if name not in (b"", b".")]


def normal_path(path: bytes) -> bytes:
    """An absolute path as the tree spells it."""
    return b"/" + b"/".join(components(path))


def has_other_links(found: os.stat_result) -> bool:
    """Whether this is the stat of a file with several hard links."""
    return found.st_nlink > 1 and stat.S_ISREG(found.st_mode)


def leads_elsewhere(path: bytes) -> bool:
    """Whether the path is a symlink, or a file with several hard links."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(found.st_mode) or has_other_links(found)


def names_in(path: bytes) -> Iterator[bytes]:
    """The names in a directory, with an empty name now and then for a pause; none if it can't be read."""
    with suppress(OSError), os.scandir(path) as entries:
        for number, entry in enumerate(entries):
            if number % _BATCH == 0:
                yield b""
            yield entry.name
