"""Refuses checkouts in which other users could make git run their commands with our rights."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from reactor import ResourceError
from reactor.hostfs import (
    Parent,
    Stamp,
    names_of,
    open_path,
    others_may_replace,
    others_may_write,
    stamp_of,
)
from reactor.resources.git.state import Found

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CONFIG, MOVING = "config", "refs/reactor/moving/next"
"""Paths in ``.git``: its settings, and the commit to which an update that has not ended moves the checkout."""
_STAMPED = ("HEAD", "index", "packed-refs", CONFIG, MOVING)
"""The files whose change may change what git says of the work tree."""


class Looked(NamedTuple):
    """What is at the path, and by path in ``.git`` a stamp of each file that says what is checked out.

    The stamp of a missing file is None.
    """

    found: Found
    stamps: Mapping[str, Stamp | None] = MappingProxyType({})


def look(path: str, uid: int, branch: str | None) -> Looked:
    """Find out what is at ``path``, for a git that runs as ``uid``.

    Raises ResourceError when that git would obey another user: when the checkout, or anything directly in ``.git``,
    belongs to or is writable for another user. Raises OSError.
    """
    try:
        fd = open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        _refuse_way(path, uid)
        return Looked(Found.NOTHING)
    try:
        found = os.fstat(fd)
        if not stat.S_ISDIR(found.st_mode):
            return Looked(Found.LINK if stat.S_ISLNK(found.st_mode) else Found.FILE)
        _refuse_stranger(path, found, uid)
        _refuse_way(path, uid)
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
        _refuse_stranger(f"{path}/.git", os.fstat(git), uid)
        with os.scandir(git) as entries:
            for entry in entries:
                _refuse_stranger(f"{path}/.git/{entry.name}", entry.stat(follow_symlinks=False), uid)
        names = (*_STAMPED, *(() if branch is None else (f"refs/heads/{branch}",)))
        return Looked(Found.CHECKOUT, {name: _stamp(name, git) for name in names})
    finally:
        os.close(git)


def _stamp(name: str, directory: int) -> Stamp | None:
    try:
        return stamp_of(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _refuse_stranger(path: str, found: os.stat_result, uid: int) -> None:
    """Raise ResourceError when ``path`` belongs to another user, or when root would trust what others can write."""
    owner = names_of(found.st_uid, 0)[0]
    if found.st_uid != uid:
        words = f"{path} belongs to {owner}, and git runs as {names_of(uid, 0)[0]}"
        hint = f"add user: {owner}, or give the checkout to that user"
        raise ResourceError(f"{words}: the settings in it could run commands", hint)
    if uid in (0, os.geteuid()) and not stat.S_ISLNK(found.st_mode) and others_may_write(found):
        words = f"other users may write to {path}, and so make git run commands as {owner}"
        raise ResourceError(words, "take that right away: chmod -R go-w, or add user")


def _refuse_way(path: str, uid: int) -> None:
    """Raise ResourceError when root, or we, would run git where other users can replace a directory on the way."""
    if uid not in (0, os.geteuid()):
        return
    try:
        with Parent(path) as (directory, base):
            is_unsafe = others_may_replace(directory, base)
    except ResourceError:
        return  # there is no such directory yet
    if is_unsafe:
        owner = names_of(uid, 0)[0]
        words = f"other users may replace {path}, or a directory above it, and so make git run commands as {owner}"
        raise ResourceError(words, "add user: the user to whom that directory belongs")
