"""Reads the mount table of the kernel, and names mount points so that other users can't redirect mount(8)."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from reactor import MountInfo, ResourceError, fragile_mounts, read_mounts
from reactor.hostfs import ErrorContext, Parent, open_directory, open_resolved, others_may_replace
from reactor.watchers.readiness import MOUNTS

_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_UMOUNT_NOFOLLOW = 8
_LITERALLY = ("-c",)
"""The option of mount(8) to leave paths unresolved: otherwise it turns the path of a descriptor into an ordinary
one."""
_libc = ctypes.CDLL(None, use_errno=True)


class Mounted(NamedTuple):
    """One mount. ``options`` are those of the mount and of its file system."""

    source: str
    fstype: str
    options: frozenset[str]


def mounts_at(point: str) -> tuple[Mounted, ...]:
    """The mounts at ``point``, the topmost last. Raises ResourceError for a symlink of another user on the way."""
    with ErrorContext(f"inspect {point}"):
        real = real_path(point)
    with ErrorContext(f"read {MOUNTS}"):
        return tuple(_mounted(mount) for mount in read_mounts() if mount.point == real)


def mounts_below(point: str) -> list[str]:
    """The mount points below ``point``. Raises ResourceError as `mounts_at` does."""
    with ErrorContext(f"read {MOUNTS}"):
        beginning = f"{real_path(point)}/"
        return sorted({mount.point for mount in read_mounts() if mount.point.startswith(beginning)})


def _mounted(mount: MountInfo) -> Mounted:
    return Mounted(mount.source, mount.fstype, frozenset((*mount.options, *mount.super_options)))


class Operand(NamedTuple):
    """A path for mount(8), and the options that belong to it."""

    path: str
    options: tuple[str, ...] = ()


@contextmanager
def mount_point(path: str) -> Iterator[Operand]:
    """Yield the operand for the topmost mount at the absolute ``path``.

    Raises ResourceError when the path is missing or a symlink, and OSError.
    """
    with Parent(path) as (directory, base):
        try:
            handle = os.open(base, _HANDLE, dir_fd=directory)
        except FileNotFoundError as error:
            hint = f"declare file#{path} with ensure: directory, to go before this"
            raise ResourceError(f"the mount point {path} does not exist", hint, missing=path) from error
        try:
            # The mount would be at its target, and would never be found here.
            if stat.S_ISLNK(os.fstat(handle).st_mode):
                there = destination(path)
                raise ResourceError(f"the mount point {path} is a link to {there}", f"name it mount#{there}")
            yield _operand(path, handle, directory, base)
        finally:
            os.close(handle)


@contextmanager
def bind_source(path: str) -> Iterator[Operand]:
    """Yield the operand for the file or directory ``path``, the source of a bind mount. Raises as `mount_point`."""
    handle = open_resolved(path)
    try:
        with Parent(path) as (directory, base):
            yield _operand(path, handle, directory, base)
    finally:
        os.close(handle)


def is_dead(directory: int, base: str) -> bool:
    """Whether the process that served the file system at ``base`` has ended, so that only unmounting it works."""
    try:
        os.stat(base, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def is_fuse(fstype: str) -> bool:
    """Whether a process serves file systems of this type."""
    return fstype.startswith("fuse")


async def has_lost_server(point: str, top: Mounted) -> bool:
    """Whether the server of ``top``, a FUSE mount at ``point``, has ended. One that does not answer is not known to have."""
    if not is_fuse(top.fstype):
        return False
    with suppress(ResourceError):
        await fragile_mounts().ask(point)
        with Parent(point) as (directory, base):
            return is_dead(directory, base)
    return False


def unmount_in(directory: int, base: str) -> None:
    """Unmount the topmost mount at ``base`` in the directory open at ``directory``. Raises OSError."""
    target = os.fsencode(f"/proc/self/fd/{directory}/{base}")
    if _libc.umount2(target, _UMOUNT_NOFOLLOW) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def real_path(path: str) -> str | None:
    """The real path of ``path``, whose last component is not resolved; None when its directory is missing.

    Raises ResourceError for a symlink of another user on the way, and OSError.
    """
    try:
        fd = open_directory(os.path.dirname(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{fd}"), os.path.basename(path))
    finally:
        os.close(fd)


def destination(path: str) -> str:
    """The path to which ``path`` leads. Raises ResourceError for a symlink of another user."""
    try:
        handle = open_resolved(path)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(path)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def _operand(path: str, handle: int, directory: int, base: str) -> Operand:
    if others_may_replace(directory, base):
        return Operand(f"/proc/{os.getpid()}/fd/{handle}", _LITERALLY)
    return Operand(path)
