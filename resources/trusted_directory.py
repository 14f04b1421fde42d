"""Decides whether a program that obeys the files in a directory may be run there, and makes such directories for users.

git obeys the settings of a repository, and a virtual environment brings its own Python. If another user can change
them, that user decides what is run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import (
    ErrorContext,
    Parent,
    names_of,
    others_may_replace,
    others_may_write,
    refuse_forbidden,
    refuse_read_only,
    refuse_unchangeable,
    remove_path,
)
from reactor.resources.process import Identity, has_our_rights

_Read = TypeVar("_Read")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def refuse_other_owner(path: str, found: os.stat_result, uid: int) -> None:
    """Raise ResourceError when ``path`` does not belong to ``uid``, or when root would trust what others can write."""
    if found.st_uid != uid:
        owner, user = names_of(found.st_uid, 0)[0], names_of(uid, 0)[0]
        words = f"{path} belongs to {owner}, and what is in it would be run as {user}"
        raise ResourceError(words, f"add user: {owner}, or give it to {user}")
    if has_our_rights(uid) and not stat.S_ISLNK(found.st_mode) and others_may_write(found, path):
        owner = names_of(found.st_uid, 0)[0]
        words = f"other users may write to {path}, and what is in it would be run as {owner}"
        raise ResourceError(
            words, "remove that permission, by chmod -R go-w, and setfacl -bR if it has an ACL; or add user"
        )


async def read_by_owner(uid: int, read: Callable[[], _Read]) -> _Read:
    """Return what ``read`` returns, in a thread if another user, ``uid``, decides how much there is to read."""
    if has_our_rights(uid):
        return read()
    return await in_thread(read, abandon_on_cancel=True)


def refuse_way(path: str, uid: int) -> None:
    """Raise ResourceError if ``uid`` is root or our own user, and other users can replace ``path``."""
    if has_our_rights(uid) and is_replaceable(path):
        user = names_of(uid, 0)[0]
        words = f"other users may replace {path}, or a directory above it, and what is in it would be run as {user}"
        raise ResourceError(words, "add user: the user to whom that directory belongs")


def is_replaceable(path: str) -> bool:
    """Whether other users can replace ``path`` in the directory that holds it; not while there is no such directory."""
    try:
        with Parent(path) as (directory, base):
            return others_may_replace(directory, base)
    except ResourceError:
        return False


def refuse_unwritable(path: str, *below: str) -> None:
    """Raise OSError or ResourceError if it is already clear that the directory, or a file in it, can't be created.

    ``below`` are directories in it in which files are made or removed, too, as far as they exist.
    """
    with Parent(path) as (parent, base):
        refuse_read_only(parent)
        try:
            fd = os.open(base, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            refuse_unchangeable(parent)
            refuse_forbidden(parent)
            return
    try:
        _refuse_fixed(fd)
        refuse_forbidden(fd)
        for name in below:
            refuse_fixed(f"/proc/self/fd/{fd}/{name}")
    finally:
        os.close(fd)


def refuse_fixed(path: str) -> None:
    """Raise OSError if there is a directory at ``path`` in which nothing can be made or removed."""
    try:
        fd = os.open(path, _DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        _refuse_fixed(fd)
        refuse_forbidden(fd)
    finally:
        os.close(fd)


def _refuse_fixed(fd: int) -> None:
    refuse_unchangeable(fd)
    refuse_read_only(fd)


async def refuse_unremovable(path: str) -> None:
    """Raise OSError or ResourceError if it is already clear that the directory can't be removed with all that is in it."""
    with Parent(path) as (parent, base):
        _refuse_fixed(parent)
        refuse_forbidden(parent, base)
    with suppress(RecursionError):  # its owner has nested it so deep: the removal itself copes with that
        await in_thread(_refuse_fixed_below, path)


def _refuse_fixed_below(path: str) -> None:
    for _, _, files, directory in os.fwalk(path):
        _refuse_fixed(directory)
        for name in files:
            with _path_of(name, directory) as file:
                refuse_unchangeable(file)


@contextmanager
def _path_of(name: str, directory: int) -> Iterator[int]:
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        yield fd
    finally:
        os.close(fd)


def make_directory_for(path: str, identity: Identity | None, mode: int) -> None:
    """Make an empty directory that belongs to ``identity``, by default to us. Raises ResourceError."""
    with ErrorContext(f"make {path}"), Parent(path) as (parent, base):
        os.mkdir(base, 0o700, dir_fd=parent)
        fd = os.open(base, _DIRECTORY, dir_fd=parent)
        try:
            # The owner of the parent could put another directory of root in its place.
            if os.fstat(fd).st_uid != os.geteuid() or os.listdir(fd):
                raise ResourceError(f"{path} was replaced by another user", "see who can write there")
            os.fchmod(fd, mode)
            if identity is not None:
                os.fchown(fd, identity.uid, identity.gid)
        finally:
            os.close(fd)


@asynccontextmanager
async def scratch_for(identity: Identity | None) -> AsyncIterator[str]:
    """Yield an empty directory for a program of ``identity``, and remove it after the block. Raises ResourceError.

    That user can change it until it is gone: the cleanup of `tempfile` would follow what they put in place of a
    directory (CVE-2023-6597), and give up where they nest many.
    """
    import tempfile  # noqa: PLC0415 - imports compressors, and few runs need it

    with ErrorContext("make a temporary directory"):
        path = tempfile.mkdtemp(prefix="reactor-")
    try:
        if identity is not None:
            os.chown(path, identity.uid, identity.gid)
        yield path
    finally:
        with trio.CancelScope(shield=True):
            await remove_path(path, recursive=True)
