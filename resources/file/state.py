"""What a file resource asks for, and what was found: the two inputs of the decision."""

from __future__ import annotations

from typing import NamedTuple

from reactor.hostfs import NOTHING_WANTED, Attributes, Content, FileType
from reactor.resources.file.validator import Validator


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
    special: int = 0
    """Of the setgid and the sticky bit of a directory those that are managed; it keeps the others."""
    is_covered: bool = False
    """Whether the root of what is mounted on the directory is somebody else's."""


class FileState(NamedTuple):
    """What was found at a path, as far as the decision needs it.

    ``mode``, ``uid`` and ``gid`` are those of ``target`` when ``type`` is a symlink that was followed. ``mode`` has all
    twelve bits.
    ``same_content`` is None where the content was not compared: it is not managed, or can't be read.
    ``wanted`` is what is asked for, with the ids that the names of the resource stand for now, and with the special
    bits that a directory has and that are not managed.
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
    stale_temporaries: tuple[str, ...] = ()
    """Names of temporary files that a killed run left beside the path."""
    shared: bool = False
    """Whether the file has other names (hard links)."""
