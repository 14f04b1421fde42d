"""Finds out whether other users can write to a file or in a directory, or replace something on the way to it."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import sys
from contextlib import suppress

_GET_FLAGS = 2 << 30 | struct.calcsize("l") << 16 | ord("f") << 8 | 1
"""FS_IOC_GETFLAGS, see ioctl_iflags(2)."""
_ACCESS_LIST = "system.posix_acl_access"
_IMMUTABLE, _APPEND_ONLY = 0x10, 0x20
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def others_may_write(found: os.stat_result, itself: int | str) -> bool:
    """Whether users other than root and us can write to the file, or create names in the directory, of this stat.

    ``itself`` is its descriptor, handle or path.
    """
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
        return True
    if not found.st_mode & stat.S_IWGRP:
        return False
    return found.st_gid not in (0, os.getegid()) or _has_access_list(itself)


def _has_access_list(itself: int | str) -> bool:
    """Whether there is an ACL; True if that is unknown. With one, the group bits of the mode are its mask."""
    path = itself if isinstance(itself, str) else f"/proc/self/fd/{itself}"
    try:
        os.getxattr(path, _ACCESS_LIST)
    except OSError as error:
        return error.errno not in (errno.ENODATA, errno.ENOTSUP)
    return True


def is_only_ours(found: os.stat_result, itself: int | str) -> bool:
    """Whether only root and ourselves can write to the regular file, and it has no second name. As `others_may_write`."""
    return found.st_nlink == 1 and stat.S_ISREG(found.st_mode) and not others_may_write(found, itself)


def others_may_replace(directory: int, base: str) -> bool:
    """Whether other users can replace ``base`` in the directory open at ``directory``, or any directory above it.

    ``base`` need not exist yet. Raises OSError.
    """
    here = os.dup(directory)
    try:
        below = None
        with suppress(FileNotFoundError):
            below = os.stat(base, dir_fd=here, follow_symlinks=False)
        while True:
            found = os.fstat(here)
            if may_be_replaced(below, found, here):
                return True
            if os.readlink(f"/proc/self/fd/{here}") == "/":
                return False
            below = found
            here, last = os.open("..", _DIRECTORY, dir_fd=here), here
            os.close(last)
    finally:
        os.close(here)


def may_be_replaced(entry: os.stat_result | None, directory: os.stat_result, handle: int) -> bool:
    """Whether other users can rename the entry of the directory that is open at ``handle``.

    They can't if both belong to root or us, and the directory is sticky.
    """
    trusted = (0, os.geteuid())
    is_ours = entry is not None and entry.st_uid in trusted
    is_kept = directory.st_mode & stat.S_ISVTX and directory.st_uid in trusted and is_ours
    return not is_kept and others_may_write(directory, handle)


def refuse_read_only(directory: int) -> None:
    """Raise OSError when the directory open at ``directory`` is on a read-only file system."""
    if os.fstatvfs(directory).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def refuse_unchangeable(fd: int) -> None:
    """Raise OSError when what is open at ``fd`` must not be changed, as lsattr(1) shows it: immutable or append-only.

    For a directory, this means that nothing in it can be replaced. File systems without such flags raise nothing.
    """
    flags = bytearray(struct.calcsize("l"))
    try:
        readable = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.ioctl(readable, _GET_FLAGS, flags)
    except OSError:
        return
    finally:
        os.close(readable)
    if int.from_bytes(flags[:4], sys.byteorder) & (_IMMUTABLE | _APPEND_ONLY):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
