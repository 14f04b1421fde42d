"""Removes a directory with everything in it, and reads one without looking at what is mounted in it."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from secrets import token_hex
from types import TracebackType

from reactor.hostfs.errors import ErrorContext, resource_error
from reactor.hostfs.safe_open import open_directory, scan_directory
from reactor.mountinfo import read_mounts
from reactor.resource.plan import ResourceError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEPTH = 100
_Caught = tuple[type[BaseException], BaseException, TracebackType]


def remove_tree(path: str, directory: int, base: str) -> None:
    """Remove the directory ``base`` of the directory open at ``directory``, with everything in it.

    ``path`` is its path for messages.

    If something is mounted in it, nothing is removed: the mounted file system is not part of the directory. Raises
    ResourceError, which names the obstacle.
    """
    from shutil import rmtree  # noqa: PLC0415 - imports compressors, and few runs need it

    refuse_mounts(path, directory, base)
    handler = _error_handler(path.removesuffix(base))
    try:
        rmtree(base, dir_fd=directory, onerror=handler)
    except RecursionError:
        with ErrorContext(f"remove {path}"):
            _flatten(directory, base)
        try:
            rmtree(base, dir_fd=directory, onerror=handler)
        except RecursionError as error:
            words = f"cannot remove {path}: it is nested too deep"
            raise ResourceError(words, "see who nests directories in it meanwhile") from error


def _flatten(directory: int, base: str) -> None:
    """Move the directories that are too deep below ``base`` to its top, until nothing in it is deep. Raises OSError.

    Everything in it will be removed. Each directory is moved from one descriptor to another, never by way of `..`, which
    a user who renames a directory meanwhile would make lead elsewhere.
    """
    top = os.open(base, _DIRECTORY, dir_fd=directory)
    try:
        pending = _raise(top, top, _DEPTH)
        while pending:
            with suppress(FileNotFoundError, NotADirectoryError):
                fd = os.open(pending.pop(), _DIRECTORY, dir_fd=top)
                try:
                    pending += _raise(top, fd, _DEPTH)
                finally:
                    os.close(fd)
    finally:
        os.close(top)


def _raise(top: int, here: int, levels: int) -> list[str]:
    """Move what is ``levels`` below the directory ``here`` to the directory ``top``, and return the new names."""
    if not levels:
        return list(_moved(top, here))
    found: list[str] = []
    for name in _directories(here):
        with suppress(FileNotFoundError, NotADirectoryError):  # its owner has removed or replaced it
            fd = os.open(name, _DIRECTORY, dir_fd=here)
            try:
                found += _raise(top, fd, levels - 1)
            finally:
                os.close(fd)
    return found


def _moved(top: int, here: int) -> Iterator[str]:
    for name in _directories(here):
        new = f".reactor-{token_hex(8)}"
        with suppress(FileNotFoundError):
            os.rename(name, new, src_dir_fd=here, dst_dir_fd=top)
            yield new


def _directories(fd: int) -> list[str]:
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def refuse_mounts(path: str, directory: int, base: str) -> None:
    """Raise ResourceError if something is mounted in the directory ``base``, which has the arguments of `remove_tree`."""
    if (mounted := _mounted_in(directory, base)) is not None:
        words = f"cannot remove {path}: something is mounted at {mounted}"
        raise ResourceError(words, f"unmount it first: umount {shlex.quote(mounted)}")


def _error_handler(parent: str) -> Callable[[object, str, _Caught], None]:
    """An error handler for rmtree, whose paths are relative to ``parent`` (which ends with a slash)."""

    def handle(_: object, seen: str, caught: _Caught) -> None:
        error = caught[1]
        if not isinstance(error, OSError):
            raise error
        if error.errno == errno.EMFILE:  # each level takes a descriptor
            raise RecursionError from error
        path = parent + seen
        hint = None
        if error.errno == errno.EPERM:
            where = shlex.join([path, os.path.dirname(path)])
            hint = f"run as root; if lsattr -d {where} shows i or a, clear that flag with chattr -ia"
        raise resource_error(error, f"remove {path}", hint) from error

    return handle


def _mounted_in(directory: int, base: str) -> str | None:
    """The latest mount point at or below ``base``; None if there is none, or no /proc."""
    with suppress(OSError):
        points = _mount_points_in(os.path.join(os.readlink(f"/proc/self/fd/{directory}"), base))
        return points[-1] if points else None
    return None


def mounted_below(root: str) -> frozenset[str]:
    """The paths below ``root`` on which something is mounted, also by way of symlinks in ``root``; none without /proc."""
    with suppress(OSError, ResourceError):  # who uses what is in ``root`` meets the same error
        top = _real_path(root)
        return frozenset(root + point[len(top) :] for point in _mount_points_in(top) if point != top)
    return frozenset()


def entries_of(directory: str, mounted: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The paths of the entries and their stats, except what is ``mounted``: to look at it may take forever.

    Raises as `scan_directory`.
    """
    with scan_directory(directory) as entries:
        for entry in entries:
            path = f"{directory}/{entry.name}"
            if path not in mounted:
                with suppress(FileNotFoundError):
                    yield path, entry.stat(follow_symlinks=False)


def _real_path(directory: str) -> str:
    """The path of the directory as the kernel finds it. os.path.realpath follows any number of symlinks of others."""
    fd = open_directory(directory)
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def _mount_points_in(top: str) -> list[str]:
    """The mount points at or below the path ``top``, which contains no symlink, in the order of mounting.

    Raises OSError when /proc is missing.
    """
    return [mount.point for mount in read_mounts() if f"{mount.point}/".startswith(f"{top}/")]
