"""Refuses checkouts in which other users could make git run their commands with our rights."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from reactor.hostfs import Stamp, open_path, stamp_of
from reactor.resources.git.state import Found
from reactor.resources.trusted_directory import refuse_other_owner, refuse_way

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CONFIG, MOVING = "config", "refs/reactor/moving/next"
"""Paths in ``.git``: its settings, and the commit to which an update that has not ended moves the checkout."""
_STAMPED = ("HEAD", "index", "packed-refs", CONFIG, MOVING)
"""The files whose change may change what git says of the work tree."""


class Looked(NamedTuple):
    """The type of file at the path, and a stamp of each file in ``.git`` that determines the checkout, by path.

    The stamp of a missing file is None.
    """

    found: Found
    stamps: Mapping[str, Stamp | None] = MappingProxyType({})


def look(path: str, uid: int, branch: str | None) -> Looked:
    """Examine ``path`` for a git that runs as ``uid``.

    Raises ResourceError when that git would obey another user: when the checkout, or anything directly in ``.git``,
    belongs to or is writable for another user. Raises OSError.
    """
    try:
        fd = open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        refuse_way(path, uid)
        return Looked(Found.NOTHING)
    try:
        found = os.fstat(fd)
        if not stat.S_ISDIR(found.st_mode):
            return Looked(Found.LINK if stat.S_ISLNK(found.st_mode) else Found.FILE)
        refuse_other_owner(path, found, uid)
        refuse_way(path, uid)
        return _look_into(path, fd, uid, branch)
    finally:
        os.close(fd)


def _look_into(path: str, handle: int, uid: int, branch: str | None) -> Looked:
    try:
        git = os.open(".git", _DIRECTORY, dir_fd=handle)
    except FileNotFoundError:
        with os.scandir(f"/proc/self/fd/{handle}") as entries:
            return Looked(Found.EMPTY if next(entries, None) is None else Found.OTHER)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        return Looked(Found.LINKED)
    try:
        refuse_other_owner(f"{path}/.git", os.fstat(git), uid)
        with os.scandir(git) as entries:
            for entry in entries:
                refuse_other_owner(f"{path}/.git/{entry.name}", entry.stat(follow_symlinks=False), uid)
        names = (*_STAMPED, *(() if branch is None else (f"refs/heads/{branch}",)))
        return Looked(Found.CHECKOUT, {name: _stamp(name, git) for name in names})
    finally:
        os.close(git)


def _stamp(name: str, directory: int) -> Stamp | None:
    try:
        return stamp_of(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None
