"""Removes a directory with everything in it."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from reactor.hostfs.errors import resource_error
from reactor.mountinfo import read_mounts
from reactor.resource.plan import ResourceError

_Caught = tuple[type[BaseException], BaseException, TracebackType]


def remove_tree(path: str, directory: int, base: str) -> None:
    """Remove the directory ``base`` of the directory open at ``directory``, with everything in it.

    ``path`` is its path for messages.

    If something is mounted in it, nothing is removed: the mounted file system is not part of the directory. Raises
    ResourceError, which names the obstacle.
    """
    from shutil import rmtree  # noqa: PLC0415 - imports compressors, and few runs need it

    refuse_mounts(path, directory, base)
    try:
        rmtree(base, dir_fd=directory, onerror=_error_handler(path.removesuffix(base)))
    except RecursionError as error:
        raise ResourceError(f"cannot remove {path}: it is nested too deep", "remove it by hand") from error


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
        path = parent + seen
        hint = None
        if error.errno == errno.EPERM:
            where = shlex.join([path, os.path.dirname(path)])
            hint = f"run as root; if lsattr -d {where} shows i or a, take that away with chattr -ia"
        raise resource_error(error, f"remove {path}", hint) from error

    return handle


def _mounted_in(directory: int, base: str) -> str | None:
    """The latest mount point at or below ``base``; None if there is none, or no /proc."""
    with suppress(OSError):
        points = mount_points_in(os.path.join(os.readlink(f"/proc/self/fd/{directory}"), base))
        return points[-1] if points else None
    return None


def mount_points_in(top: str) -> list[str]:
    """The mount points at or below the path ``top``, which contains no symlink, in the order of mounting.

    Raises OSError when /proc is missing.
    """
    return [mount.point for mount in read_mounts() if f"{mount.point}/".startswith(f"{top}/")]
