"""Who else may write: to a file, in a directory, or anywhere on the way to a name."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def others_may_write(found: os.stat_result) -> bool:
    """Whether anybody but root and ourselves may write to the file, or make names in the directory, of this stat."""
    if found.st_uid not in (0, os.geteuid()):
        return True
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getegid())
    return bool(by_group or found.st_mode & stat.S_IWOTH)


def is_only_ours(found: os.stat_result) -> bool:
    """Whether nobody but root and ourselves can write to the regular file of this stat, by whatever name."""
    return found.st_nlink == 1 and stat.S_ISREG(found.st_mode) and not others_may_write(found)


def others_may_replace(directory: int, base: str) -> bool:
    """Whether others than root may change where the name ``base`` in the directory open at ``directory`` leads.

    The name need not be there yet. Raises OSError.
    """
    here = os.dup(directory)
    try:
        below = None
        with suppress(FileNotFoundError):
            below = os.stat(base, dir_fd=here, follow_symlinks=False)
        while True:
            found = os.fstat(here)
            if _may_be_replaced(below, found):
                return True
            if os.readlink(f"/proc/self/fd/{here}") == "/":
                return False
            below = found
            here, last = os.open("..", _DIRECTORY, dir_fd=here), here
            os.close(last)
    finally:
        os.close(here)


def _may_be_replaced(entry: os.stat_result | None, directory: os.stat_result) -> bool:
    """Whether others may rename the entry of a directory: not what is root's or ours in one of root's that is sticky."""
    trusted = (0, os.geteuid())
    is_ours = entry is not None and entry.st_uid in trusted
    is_kept = directory.st_mode & stat.S_ISVTX and directory.st_uid in trusted and is_ours
    return others_may_write(directory) and not is_kept


def refuse_read_only(directory: int) -> None:
    """Raise OSError where nobody can write in the directory open at ``directory``: its file system is read-only."""
    if os.fstatvfs(directory).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
