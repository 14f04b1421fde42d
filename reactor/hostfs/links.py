"""Makes symbolic links. A new link is made beside the old one and renamed over it, also over a directory."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from reactor.hostfs.backups import PreviousContent
from reactor.hostfs.disks import at_length, changing
from reactor.hostfs.errors import ErrorContext
from reactor.hostfs.fsync import change_on_disk
from reactor.hostfs.safe_open import Parent
from reactor.hostfs.temp_files import named_temporaries, temporary_name
from reactor.hostfs.tree import refuse_mounts, remove_tree
from reactor.resource.plan import ResourceError

KEEP = -1
"""The id of an owner or group that is not managed."""
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.EXDEV)


class LinkOwner(NamedTuple):
    """The ids of the owner and group of a link; `KEEP` for one that is not managed."""

    uid: int = KEEP
    gid: int = KEEP


async def write_link(path: str, target: str, owner: LinkOwner, *, replaces_all: bool = False) -> None:
    """Make ``path`` a symlink to ``target``, in one step. Replaces another symlink.

    With ``replaces_all`` it also replaces a file, whose content is backed up, or a directory with everything in it.
    Raises ResourceError; ``path`` is then unchanged.
    """
    with ErrorContext(f"link {path}"):
        await change_on_disk(path, partial(_write, path, target, owner, replaces_all=replaces_all))


async def _write(path: str, target: str, owner: LinkOwner, *, replaces_all: bool) -> None:
    with Parent(path) as (directory, base):
        found = _type_at(directory, base)
        if found not in (0, stat.S_IFLNK) and not replaces_all:
            raise ResourceError(f"{path} is no longer a symlink; refusing to replace it")
        if found == stat.S_IFDIR:
            refuse_mounts(path, directory, base)
        name = temporary_name(base)
        try:
            await changing(_make, directory, name, target, owner, path)
            if found == stat.S_IFDIR:
                await changing(_exchange, directory, name, base)
                await _remove(path, directory, name)
            else:
                await _rename(path, directory, name, base)
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)
            raise


def _type_at(directory: int, base: str) -> int:
    """The type bits of the mode; 0 if there is nothing."""
    try:
        return stat.S_IFMT(os.stat(base, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0


def _make(directory: int, name: str, target: str, owner: LinkOwner, path: str) -> None:
    """Make a temporary link with this owner."""
    os.symlink(target, name, dir_fd=directory)
    if owner not in (LinkOwner(), LinkOwner(os.geteuid(), os.getegid())):
        _give(directory, name, owner, path, is_new=True)


async def _rename(path: str, directory: int, name: str, base: str) -> None:
    with PreviousContent(path, f"file#{path}", directory, base) as former:
        await changing(partial(os.rename, name, base, src_dir_fd=directory, dst_dir_fd=directory))
        await former.keep()


def _exchange(directory: int, name: str, base: str) -> None:
    """Exchange the two names in one step; in two steps on a file system that can't."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(name), os.fsencode(base)
    code = errno.ENOSYS
    if hasattr(libc, "renameat2"):
        if libc.renameat2(directory, names[0], directory, names[1], _RENAME_EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
    if code not in _CANNOT_EXCHANGE:
        raise OSError(code, os.strerror(code), base)
    aside = temporary_name(base)
    os.rename(base, aside, src_dir_fd=directory, dst_dir_fd=directory)
    os.rename(name, base, src_dir_fd=directory, dst_dir_fd=directory)
    os.rename(aside, name, src_dir_fd=directory, dst_dir_fd=directory)


async def _remove(path: str, directory: int, name: str) -> None:
    if _type_at(directory, name) == stat.S_IFDIR:
        await at_length(remove_tree, f"{os.path.dirname(path)}/{name}", directory, name)
    else:
        with suppress(FileNotFoundError):
            await changing(partial(os.unlink, name, dir_fd=directory))


def link_text(path: str) -> str:
    """The target of the symlink at ``path``, as written. Raises OSError, and ResourceError as `Parent` does."""
    with Parent(path) as (directory, base):
        return os.readlink(base, dir_fd=directory)


async def set_link_owner(path: str, owner: LinkOwner) -> None:
    """Set owner and group of the symlink at ``path``, never of what it leads to. Raises ResourceError."""
    with ErrorContext(f"set the owner of the link {path}"):
        await change_on_disk(path, partial(_set_owner, path, owner))


async def _set_owner(path: str, owner: LinkOwner) -> None:
    with Parent(path) as (directory, base):
        await changing(partial(_give, directory, base, owner, path))


def _give(directory: int, base: str, owner: LinkOwner, path: str, *, is_new: bool = False) -> None:
    """Give the symlink ``base`` to ``owner`` through a handle: by now, ``base`` may be another user's hard link."""
    fd = os.open(base, _HANDLE, dir_fd=directory)
    try:
        found = os.fstat(fd)
        is_ours = not is_new or found.st_uid == os.geteuid()
        if not (stat.S_ISLNK(found.st_mode) and found.st_nlink == 1 and is_ours):
            words = f"{path} was replaced by another program, or has several names; refusing to set its owner"
            raise ResourceError(words, "see who changes it: ls -li")
        os.chown(f"/proc/self/fd/{fd}", *owner)  # a handle of a symlink leads to the symlink itself
    finally:
        os.close(fd)


def stale_links(
    directory: str, names: Iterable[str], uid: int, *, takes_directories: bool
) -> tuple[str, ...]:
    """The ``names`` that a killed `write_link` left in ``directory``: links of us or of ``uid``.

    With ``takes_directories`` also the directories that a link has replaced. A link can't be locked. One that another
    process is about to rename counts as stale too; that process then fails and tries again.
    """
    with suppress(OSError, ResourceError), Parent(f"{directory}/.") as (fd, _):
        return tuple(name for name in names if _is_stale(fd, name, uid, takes_directories=takes_directories))
    return ()


def _is_stale(directory: int, name: str, uid: int, *, takes_directories: bool) -> bool:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    if stat.S_ISDIR(found.st_mode):
        return takes_directories
    return stat.S_ISLNK(found.st_mode) and found.st_uid in (os.geteuid(), uid)


async def remove_stale_links(path: str, names: Iterable[str], uid: int, *, takes_directories: bool) -> None:
    """Remove the links that `stale_links` finds beside ``path``. Raises ResourceError."""
    with ErrorContext(f"remove temporary files in {os.path.dirname(path)}"):
        await change_on_disk(
            path, partial(_remove_stale, path, names, uid, takes_directories=takes_directories)
        )


async def _remove_stale(path: str, names: Iterable[str], uid: int, *, takes_directories: bool) -> None:
    with Parent(path) as (directory, _):
        for name in names:
            if _is_stale(directory, name, uid, takes_directories=takes_directories):
                await _remove(path, directory, name)


async def find_stale_links(path: str, uid: int, *, takes_directories: bool) -> tuple[str, ...]:
    """The names of the links that killed runs left beside ``path``."""
    directory, _, base = path.rpartition("/")
    names = await named_temporaries(directory or "/", base)
    return stale_links(directory or "/", names, uid, takes_directories=takes_directories) if names else ()
