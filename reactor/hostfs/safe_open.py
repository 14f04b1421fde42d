"""Opens paths below directories of other users, without following their symlinks and hard links elsewhere.

The owner of a directory can put a symlink into it at any time. Root would then read, give away or remove a file
elsewhere. So a symlink on the way is followed only if it belongs to root, to us, or to the owner of the file it leads
to. systemd-tmpfiles calls anything else an unsafe transition.

A hard link leads elsewhere too, if ``fs.protected_hardlinks`` is 0: a user who can write in a directory can give a
file of root a name there. So a file with several names is refused where other users can add names, and a symlink of
root with several names is not trusted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reactor.hostfs.writers import may_be_replaced, others_may_write
from reactor.resource.plan import ResourceError

# A handle is enough to act in a directory. Some directories may be entered and not read.
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_SYMLINKS = 40
"""The limit of the kernel."""
_MOST_STEPS = 4096
"""The most components that fit into a path. Symlinks that lead through each other could need far more steps, and block
the loop."""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ANYBODY = 2**32 - 1
"""An id that no user has, so it is never trusted."""

# The arguments of openat2(2) as C has them: without ``argtypes`` ctypes takes two thirds of the time.
_OPENAT2 = ctypes.c_long(437)  # the same number on every architecture
_AT_FDCWD = ctypes.c_int(-100)
_RESOLVE_NO_SYMLINKS = 0x04
_HOW_SIZE = ctypes.c_size_t(24)
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_TRY_STEP_BY_STEP = (errno.ELOOP, errno.ENOSYS, errno.EPERM)
"""A symlink on the way; a kernel before 5.6; a sandbox that forbids unknown system calls."""

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


class Parent:
    """Opens the parent directory of ``path`` for a block. Yields its handle (O_PATH), and the name of ``path`` in it.

    Raises OSError, and ResourceError if there is no such directory or a symlink on the way must not be followed.
    After `hold`, it stays open until the next block ends, or until nothing refers to it any more.
    """

    __slots__ = ("_base", "_directory", "_parent")

    def __init__(self, path: str) -> None:
        parent, _, self._base = path.rpartition("/")
        self._parent = parent or "/"
        self._directory = -1

    def hold(self) -> tuple[int, str]:
        """Open the directory, unless it is open. Returns the handle and the name."""
        if self._directory == -1:
            try:
                self._directory = open_directory(self._parent)
            except (FileNotFoundError, NotADirectoryError) as error:
                hint = f"declare file#{self._parent} with ensure: directory, to go before this, or require the package that brings it"
                words = f'"{self._parent}" is not a directory'
                raise ResourceError(words, hint, missing=self._parent) from error
        return self._directory, self._base or "."

    __enter__ = hold

    def close(self, *_raised: object) -> None:
        """Close the directory, if it is open."""
        directory, self._directory = self._directory, -1
        if directory != -1:
            os.close(directory)

    __exit__ = close
    __del__ = close


def first_missing_path(directory: str) -> str:
    """The topmost missing directory on the way to the missing, absolute ``directory``, which may be itself."""
    while not os.path.lexists(parent := os.path.dirname(directory)):
        directory = parent
    return directory


def open_directory(path: str) -> int:
    """Open the directory at the absolute ``path``, which may be a symlink, as a handle (O_PATH).

    Raises OSError, and ResourceError for a symlink that must not be followed.
    """
    fd = _open_straight(path, _DIRECTORY)
    if fd is not None:
        return fd
    here = _walk(path)
    try:
        return os.open(".", _DIRECTORY, dir_fd=here)
    finally:
        os.close(here)


def open_path(path: str, flags: int = os.O_PATH) -> int:
    """Open the absolute ``path`` without following a symlink as its last component; O_PATH opens the symlink itself.

    Raises as `open_directory`.
    """
    fd = _open_straight(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
    if fd is not None:
        return fd
    parent, _, base = path.rpartition("/")
    directory = open_directory(parent or "/")
    try:
        return os.open(base or ".", flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    finally:
        os.close(directory)


def is_mount_point(path: str, fd: int) -> bool:
    """Whether the absolute ``path``, open at ``fd``, is a mount point, also of a bind mount."""
    with Parent(path) as (directory, _):
        return _mount_of(fd) != _mount_of(directory)


def _mount_of(fd: int) -> str:
    """The id of the mount that ``fd`` is in, see proc_pid_fdinfo(5)."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:
        return next((line for line in lines if line.startswith("mnt_id:")), "")


@contextmanager
def scan_directory(path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Yield the entries of the directory at the absolute ``path``, which must not be a symlink.

    Raises as `open_directory` does.
    """
    fd = open_path(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(fd) as entries:
            yield entries
    finally:
        os.close(fd)


def open_resolved(path: str) -> int:
    """Open the absolute ``path`` as a handle (O_PATH), following a symlink also as its last component.

    Raises as `open_directory`.
    """
    fd = _open_straight(path, _STEP)
    if fd is not None and not stat.S_ISLNK(os.fstat(fd).st_mode):
        return fd
    if fd is not None:
        os.close(fd)
    return _walk(path)


def open_source(path: str) -> int:
    """Open the absolute ``path`` for reading, following a symlink also as its last component.

    Raises as `open_directory`, and ResourceError for a hard link that another user may have made.
    """
    fd = _open_straight(path, _READ)
    if fd is None:
        here = _walk(path)
        try:
            fd = os.open(f"/proc/self/fd/{here}", _READ)
        finally:
            os.close(here)
    return _unshared(fd, path)[0]


def open_content(path: str) -> int:
    """Open the absolute ``path`` for reading. A symlink as its last component raises OSError (ELOOP).

    Raises as `open_source` otherwise.
    """
    return open_content_stat(path)[0]


def open_content_stat(path: str) -> tuple[int, os.stat_result]:
    """As `open_content`. Returns the descriptor and its stat."""
    return _unshared(open_path(path, _READ), path)


def _unshared(fd: int, path: str) -> tuple[int, os.stat_result]:
    try:
        found = os.fstat(fd)
        if found.st_nlink > 1:
            refuse_foreign_link(fd, path, found)
    except BaseException:
        os.close(fd)
        raise
    return fd, found


def belongs_to_another(directory: int, uid: int) -> bool:
    """Whether the open ``directory`` is neither root's, nor ours, nor that of ``uid``: its owner may set a default ACL."""
    return os.fstat(directory).st_uid not in (0, os.geteuid(), uid)


def refuse_foreign_link(fd: int, path: str, found: os.stat_result | None = None) -> None:
    """Raise ResourceError when the file open at ``fd`` may be another user's file with ``path`` as a second name.

    ``found`` is its stat, if known.
    """
    if found is None:
        found = os.fstat(fd)
    if found.st_nlink == 1 or stat.S_ISDIR(found.st_mode) or _is_named_by_owner(fd, found):
        return
    words = f"{path} has {found.st_nlink} hard links, and users other than root can write to its directory"
    hint = (
        f"it may be another file under a second name: see find / -xdev -inum {found.st_ino}; remove this name"
    )
    raise ResourceError(f"{words}; refusing to use it", hint)


def _is_named_by_owner(fd: int, found: os.stat_result) -> bool:
    """Whether only root, we or the owner of the file could make the name by which the file at ``fd`` was opened.

    The kernel reports that name, since the opened path may lead through a symlink, or elsewhere by now. The function
    also checks that the name still leads to the file, so the right directory is examined.
    """
    try:
        with Parent(os.readlink(f"/proc/self/fd/{fd}")) as (directory, base):
            named = os.stat(base, dir_fd=directory, follow_symlinks=False)
            above = os.fstat(directory)
            by_owner_alone = above.st_uid == found.st_uid and not above.st_mode & _WRITABLE_BY_OTHERS
            is_named_by_us = by_owner_alone or not others_may_write(above, directory)
    except (OSError, ResourceError):
        return False
    return os.path.samestat(found, named) and is_named_by_us


def _open_straight(path: str, flags: int) -> int | None:
    """Open ``path`` if no symlink is on the way; None when `_walk` must examine it component by component.

    Takes one system call, and `_walk` four for each component. Raises OSError.
    """
    if "\0" in path:
        raise ValueError("embedded null byte")
    how = _hows.get(flags) or _how(flags)
    name = path.encode(_ENCODING, _ERRORS)  # as os.fsencode, which takes longer
    while True:
        fd: int = _syscall(_OPENAT2, _AT_FDCWD, name, how, _HOW_SIZE)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code in _TRY_STEP_BY_STEP:
            return None
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), path)


def _how(flags: int) -> bytes:
    """The packed struct open_how of openat2(2) for ``flags``."""
    how = _hows[flags] = struct.pack("=QQQ", flags, 0, _RESOLVE_NO_SYMLINKS)
    return how


_hows: dict[int, bytes] = {}


def _walk(path: str) -> int:
    """Open ``path`` as a handle, component by component, so that only symlinks that were examined are followed."""
    names = _parts(path)
    owners: list[tuple[int, int]] = []
    steps = 0
    here = os.open("/", _STEP)
    try:
        while names:
            steps += 1
            if len(owners) > _MOST_SYMLINKS or steps > _MOST_STEPS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)  # noqa: TRY301 - the handler below only closes
            below, found, target = _step(names.pop(), here)
            if target is not None:
                owners.append((_guarantor(found, here), found.st_uid))
                names += _parts(target)
            if below is not None:
                here, above = below, here
                os.close(above)
        _refuse_foreign_owners(path, owners, os.fstat(here))
    except BaseException:
        os.close(here)
        raise
    return here


def _step(name: str, here: int) -> tuple[int | None, os.stat_result, str | None]:
    """Open the component ``name`` of the directory open at ``here``.

    Returns the descriptor of the next directory (None: stay in ``here``), the stat of ``name``, and its target if it
    is a symlink.
    """
    step = os.open(name, _STEP, dir_fd=here)
    try:
        found = os.fstat(step)
        if not stat.S_ISLNK(found.st_mode):
            below, step = step, -1
            return below, found, None
        target = os.readlink("", dir_fd=step)
        return os.open("/", _STEP) if target.startswith("/") else None, found, target
    finally:
        if step != -1:
            os.close(step)


def _guarantor(symlink: os.stat_result, here: int) -> int:
    """The user id that is responsible for a symlink in the directory open at ``here``.

    It is its owner, unless another user may have put it there. Any user who can write in the directory may have linked a
    symlink that has several names. Who can rename what is in it may have given this name to a symlink of root, which
    leads to a directory of root.
    """
    trusted, directory = (0, os.geteuid()), os.fstat(here)
    if symlink.st_nlink > 1 and others_may_write(directory, here):
        by_owner_alone = not directory.st_mode & _WRITABLE_BY_OTHERS
        return directory.st_uid if by_owner_alone else _ANYBODY
    if symlink.st_uid in trusted and may_be_replaced(symlink, directory, here):
        return _ANYBODY if directory.st_uid in trusted else directory.st_uid
    return symlink.st_uid


def _parts(path: str) -> list[str]:
    """The components of ``path``, in reverse order."""
    return [name for name in reversed(path.split("/")) if name]


def _refuse_foreign_owners(path: str, owners: list[tuple[int, int]], reached: os.stat_result) -> None:
    """Raise ResourceError for a symlink of another user. ``owners`` are who is responsible for each, and its owner."""
    for responsible, owner in owners:
        if responsible not in (0, os.geteuid(), reached.st_uid):
            from reactor.hostfs.owners import names_of  # noqa: PLC0415 - only for this error

            other = "another user" if responsible == _ANYBODY else names_of(responsible, 0)[0]
            whose = f"of {other}" if responsible == owner else f"that {other} may have put there,"
            what = "into a directory" if stat.S_ISDIR(reached.st_mode) else "to a file"
            words = f"{path} leads through a symlink {whose} {what} of {names_of(reached.st_uid, 0)[0]}"
            hint = "name what it leads to, or see who made the symlink and give it to root: chown -h root"
            if responsible != owner:
                hint = "name what it leads to, or keep the symlink in a directory that only root may write"
            raise ResourceError(f"{words}; refusing to follow it", hint)
