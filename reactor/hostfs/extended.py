"""Extended attributes of files and directories, such as ACLs and capabilities, through a handle."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from functools import partial

from reactor.hostfs.disks import changing
from reactor.hostfs.errors import ErrorContext, resource_error
from reactor.hostfs.fsync import change_on_disk
from reactor.hostfs.safe_open import Parent, first_missing_path, open_path, refuse_foreign_link
from reactor.hostfs.writers import others_may_replace
from reactor.resource.plan import ResourceError

Extended = Mapping[str, bytes | None]
"""Extended attributes by name; None for one that must not be there."""
CAPABILITIES = "security.capability"
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_UNSUPPORTED = (errno.ENOTSUP, errno.EPERM)


def read_extended(path: str, names: Iterable[str]) -> dict[str, bytes | None]:
    """The values of these extended attributes; None for one that is not there, or that the file system can't have.

    Raises OSError, and ResourceError as `open_path` does.
    """
    fd = open_path(path)
    try:
        return {name: _value(fd, name) for name in names}
    finally:
        os.close(fd)


def _value(fd: int, name: str) -> bytes | None:
    try:
        return os.getxattr(f"/proc/self/fd/{fd}", name)
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.ENOTSUP):
            raise
        return None


def set_on(fd: int, extended: Extended, path: str) -> None:
    """Set the extended attributes of the file that is open at ``fd``, or that is a handle. Raises ResourceError."""
    itself = f"/proc/self/fd/{fd}"
    for name, value in sorted(extended.items(), key=lambda each: each[0] == CAPABILITIES):
        try:
            if value is not None:
                os.setxattr(itself, name, value)
            elif _value(fd, name) is not None:
                os.removexattr(itself, name)
        except OSError as error:
            raise _refused(error, name, path) from error


async def set_extended(path: str, extended: Extended) -> None:
    """Set the extended attributes of the file or directory at ``path``, never through a symlink. Raises ResourceError.

    Capabilities are set only where no other user can replace the file.
    """
    with ErrorContext(f"set the extended attributes of {path}"):
        await change_on_disk(path, partial(_set, path, extended))


async def _set(path: str, extended: Extended) -> None:
    with Parent(path) as (directory, base):
        await changing(_set_in, path, directory, base, extended)


def _set_in(path: str, directory: int, base: str, extended: Extended) -> None:
    fd = os.open(base, _HANDLE, dir_fd=directory)
    try:
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            raise ResourceError(f"{path} is a symlink; refusing to set attributes through it")
        refuse_foreign_link(fd, path)
        if extended.get(CAPABILITIES) is not None:
            refuse_exposed(path, directory, base)
        set_on(fd, extended, path)
    finally:
        os.close(fd)


def refuse_exposed(path: str, directory: int, base: str, what: str = "capabilities") -> None:
    """Raise ResourceError where another user could put a program of their own in the place of ``base``.

    ``what`` is what the file would be given.
    """
    if others_may_replace(directory, base):
        words = f"users other than root can replace {path}; refusing to give {what} to the file"
        raise ResourceError(words, "give its content, too, or keep it in a directory of root")


def require_support(path: str, extended: Extended) -> None:
    """Raise the ResourceError with which `set_extended` would fail, because the file system has no such attributes.

    If ``path`` is no file or directory, the nearest directory above it answers.
    """
    with Parent(first_missing_path(path)) as (directory, base):
        fd = _file_or(directory, base)
    try:
        for name in extended:
            try:
                os.getxattr(f"/proc/self/fd/{fd}", name)
            except OSError as error:
                if error.errno == errno.ENOTSUP:
                    raise _refused(error, name, path) from error
    finally:
        os.close(fd)


def _file_or(directory: int, base: str) -> int:
    """A handle of the file or directory ``base``, or else of the directory that it is in."""
    try:
        fd = os.open(base, _HANDLE, dir_fd=directory)
    except FileNotFoundError:
        return os.dup(directory)
    if stat.S_IFMT(os.fstat(fd).st_mode) in (stat.S_IFREG, stat.S_IFDIR):
        return fd
    os.close(fd)
    return os.dup(directory)


def _refused(error: OSError, name: str, path: str) -> ResourceError:
    hint = "keep the file on another file system, or mount this one with support for it"
    return resource_error(error, f"set {name} of {path}", hint if error.errno in _UNSUPPORTED else None)
