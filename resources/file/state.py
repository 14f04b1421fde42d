"""The desired state of a file, and the observed state: the two inputs of the planner."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

from reactor import ResourceError
from reactor.hostfs import (
    NOTHING_WANTED,
    Attributes,
    Change,
    Content,
    Extended,
    FileType,
    OpenFile,
    ShortFile,
)


class Approver(Protocol):
    """The commands that new content must pass."""

    async def require_startable(self) -> None:
        """Raise ResourceError if one of them can't be started."""

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError unless the file ``candidate`` may become ``path``."""


class Settings(NamedTuple):
    """The desired state without path and content. Files with equal settings share them, to save memory.

    ``mode`` is 0 for ``ensure: absent``.
    """

    ensure: str
    owner: str = "0"
    group: str = "0"
    mode: int = 0
    force: bool = False
    validator: Approver | None = None
    special: int = 0
    """Those of the setgid and sticky bits of a directory that are managed; the other bits stay."""
    is_covered: bool = False
    """Whether another resource manages the root of the file system that is mounted on the directory."""
    mounted_root: bool = False
    """Whether owner and mode are those of the root of whatever is mounted on the directory."""
    extended: Extended | None = None
    """The extended attributes of new content."""


class Desired(NamedTuple):
    """The desired state. ``content`` is None if it is not managed."""

    path: str
    settings: Settings
    content: Content | None = None


class Wrong(NamedTuple):
    """A file or directory that is not as desired. ``refusal`` says why it must not be changed."""

    path: str
    wanted: Attributes
    changes: tuple[Change, ...]
    refusal: ResourceError | None = None


class FileState(NamedTuple):
    """The observed state of the path.

    ``mode`` has all twelve bits. For a symlink that was followed, ``mode``, ``uid`` and ``gid`` are those of the
    target. ``same_content`` is None if the content was not compared: it is not managed, or can't be read. ``wanted``
    are the desired attributes, with the present ids of the owner and group, and with the special bits of a directory
    that are not managed.
    """

    type: FileType
    mode: int = 0
    uid: int = 0
    gid: int = 0
    wanted: Attributes = NOTHING_WANTED
    same_content: bool | None = None
    occupied: bool = False
    """Whether a directory that must be removed is not empty."""
    target: FileType | None = None
    """The type of the target of a symlink, if it was followed."""
    stale_temporaries: tuple[str, ...] = ()
    """The names of temporary files that a killed run left beside the path."""
    shared: bool = False
    """Whether the file has other names (hard links)."""
    short: ShortFile | None = None
    """The file, if its content differs, and is short enough for the change to read it for a diff."""
    opened: OpenFile | None = None
    """The file, if only its attributes differ."""
    points_to: str | None = None
    """The text of a symlink, if the desired state is a link."""
    changes: tuple[Change, ...] = ()
    """The extended attributes that differ."""
    wrong: tuple[Wrong, ...] = ()
    """The entries of the directory that differ, with ``recurse``."""
    is_unverified: bool = False
    """Whether the last change was interrupted before it was verified."""


@lru_cache(maxsize=1024)
def correct_state(uid: int, gid: int, mode: int) -> FileState:
    """The state of every file that is as desired and has these attributes. Most files share one object."""
    return FileState(FileType.FILE, mode, uid, gid, Attributes(uid, gid, mode), same_content=True)
