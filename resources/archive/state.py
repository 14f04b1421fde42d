"""What an archive resource asks for, and what was found: the two inputs of the decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from reactor import SingleFile, UnpackingLimits
from reactor.hostfs import FileType
from reactor.resources.download.source import Source


@dataclass(frozen=True, slots=True)
class Desired:
    """What an archive resource asks for. ``ref`` is its identity."""

    ref: str
    path: str
    ensure: str
    format: str
    source: Source
    owner: str
    group: str
    checksum: str | None = None
    extract_parent: str | None = None
    creates: str | None = None
    cleanup: bool = False
    strip: int = 0
    """How many components at the beginning of each path in the archive are dropped."""
    single: SingleFile | None = None
    """What comes out of a compressed file that is no archive."""
    limits: UnpackingLimits = field(default_factory=UnpackingLimits)


class ArchiveState(NamedTuple):
    """What was found, as far as the decision needs it."""

    type: FileType
    wanted: tuple[int, int] = (0, 0)
    """The ids that owner and group stand for now."""
    is_owned: bool = False
    """Whether the archive belongs to them."""
    is_shared: bool = False
    """Whether the archive has other names (hard links)."""
    same_content: bool | None = None
    """Whether it has the checksum; without one, False when it is known to come from another URL, else unknown."""
    creates_exists: bool | None = None
    """None where nothing is said about what unpacking creates."""
    partial: bool = False
    """Whether a download was cut short and left its temporary file."""
    interrupted: bool = False
    """Whether an unpacking is owed: the archive came, and was not unpacked to the end."""
