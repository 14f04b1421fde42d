"""The type of a file, and its owner, group and mode."""

from __future__ import annotations

import stat
from enum import Enum
from typing import NamedTuple


class FileType(Enum):
    """The type of the file at a path. The values are words for messages."""

    ABSENT = "absent"
    FILE = "a regular file"
    DIRECTORY = "a directory"
    SYMLINK = "a symlink"
    FIFO = "a FIFO"
    SOCKET = "a socket"
    DEVICE = "a device"


_TYPES = {
    stat.S_IFREG: FileType.FILE,
    stat.S_IFDIR: FileType.DIRECTORY,
    stat.S_IFLNK: FileType.SYMLINK,
    stat.S_IFIFO: FileType.FIFO,
    stat.S_IFSOCK: FileType.SOCKET,
}


def type_of(mode: int) -> FileType:
    """The type of the file with this ``st_mode``."""
    return _TYPES.get(stat.S_IFMT(mode), FileType.DEVICE)


class Attributes(NamedTuple):
    """The owner and group of a file as ids, and its permission bits."""

    uid: int
    gid: int
    mode: int


NOTHING_WANTED = Attributes(0, 0, 0)
"""The attributes of a resource that manages none."""


class Change(NamedTuple):
    """One attribute that differs. ``old`` is empty for a file that does not exist yet."""

    attribute: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"changed {self.attribute} from {self.old} to {self.new}"
