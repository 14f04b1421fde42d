"""What a file resource asks for, and what was found: the two inputs of the decision."""

from __future__ import annotations

import stat
from enum import Enum
from typing import NamedTuple

from resources.file.content import Content
from resources.file.validator import Validator


class FileType(Enum):
    """What is at a path. The values are the words for people."""

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
    """The type in the ``st_mode`` of a stat."""
    return _TYPES.get(stat.S_IFMT(mode), FileType.DEVICE)


class Attributes(NamedTuple):
    """Owner and group as ids, and the permission bits."""

    uid: int
    gid: int
    mode: int


NOTHING_WANTED = Attributes(0, 0, 0)


class Change(NamedTuple):
    """One attribute that differs; an empty ``old`` is that of something new."""

    attribute: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"changed {self.attribute} from {self.old} to {self.new}"


class Desired(NamedTuple):
    """What a file resource asks for. ``content`` is None where it is not managed, ``mode`` 0 where absent."""

    path: str
    ensure: str
    content: Content | None = None
    owner: str = "0"
    group: str = "0"
    mode: int = 0
    force: bool = False
    validator: Validator | None = None


class FileState(NamedTuple):
    """What was found at a path, as far as the decision needs it.

    ``mode``, ``uid`` and ``gid`` are those of ``target`` when ``type`` is a symlink that was followed. The mode of a
    directory is without its special bits: they can't be asked for, and a change of mode leaves them alone.
    ``same_content`` is None where the content was not compared: it is not managed, or can't be read.
    ``wanted`` is what is asked for, with the ids that the names of the resource stand for now.
    """

    type: FileType
    mode: int = 0
    uid: int = 0
    gid: int = 0
    wanted: Attributes = NOTHING_WANTED
    same_content: bool | None = None
    occupied: bool = False
    """Whether a directory that is to go has anything in it."""
    target: FileType | None = None
    """What a symlink leads to, where that matters."""
    litter: tuple[str, ...] = ()
    """Names of temporary files that a killed run left beside the path."""
