"""Finds out whether other users can write to a file or in a directory, or replace something on the way to it; and what we can't."""

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
_CAP_CHOWN, _CAP_FOWNER = 0, 3
"""Their bits, see capabilities(7)."""
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


def refuse_forbidden(directory: int, name: str | None = None) -> None:
    """Raise OSError when this process may not make, replace or remove ``name`` in the directory open at ``directory``.

    Without a name, when it may make no new file there.
    The kernel is asked, so capabilities and access lists count. In a sticky directory, what others own stays theirs.
    """
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=directory, effective_ids=True):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    found = os.fstat(directory)
    if name is None or not found.st_mode & stat.S_ISVTX or found.st_uid == os.geteuid():
        return
    with suppress(FileNotFoundError):
        is_ours = os.stat(name, dir_fd=directory, follow_symlinks=False).st_uid == os.geteuid()
        if not (is_ours or effective_capabilities() >> _CAP_FOWNER & 1):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def refuse_foreign_owner(uid: int, gid: int, directory: int) -> None:
    """Raise OSError when this process may not give a new file in ``directory`` to this owner and group.

    Only with CAP_CHOWN may it be another user, or a group that this process is not in. A directory may give its own group.
    A user namespace, as of a container without root, must have both.
    """
    if effective_capabilities() >> _CAP_CHOWN & 1:
        _refuse_unmapped(uid, gid)
        return
    groups = {os.getegid(), *os.getgroups(), os.fstat(directory).st_gid}
    if uid != os.geteuid() or gid not in groups:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def refuse_foreign_attributes(found: tuple[int, int, int], wanted: tuple[int, int, int]) -> None:
    """Raise OSError when this process may not change uid, gid and mode from ``found`` to ``wanted`` on a file that stays."""
    uid, gid, mode = found
    has_owner = _is_mapped(
        uid, "/proc/self/uid_map"
    )  # capabilities do not reach what users of other namespaces own
    capabilities = effective_capabilities() if has_owner else 0
    may_own, is_ours = capabilities >> _CAP_CHOWN & 1, uid == os.geteuid()
    may_give = may_own or (is_ours and wanted[1] in (os.getegid(), *os.getgroups()))
    may_set = is_ours or capabilities >> _CAP_FOWNER & 1
    if (
        (wanted[0] != uid and not may_own)
        or (wanted[1] != gid and not may_give)
        or (wanted[2] != mode and not may_set)
    ):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    if wanted[:2] != (uid, gid):
        _refuse_unmapped(wanted[0], wanted[1])


def _refuse_unmapped(uid: int, gid: int) -> None:
    """Raise OSError when the user namespace of this process does not have both, see user_namespaces(7)."""
    if not (_is_mapped(uid, "/proc/self/uid_map") and _is_mapped(gid, "/proc/self/gid_map")):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _is_mapped(number: int, path: str) -> bool:
    try:
        with open(path, encoding="ascii") as lines:
            ranges = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    except OSError:
        return True
    return any(first <= number < first + count for first, count in ranges)


def effective_capabilities() -> int:
    """The effective capabilities of this process, one bit for each; all if they can't be read."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), -1)
    except OSError:
        return -1


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
