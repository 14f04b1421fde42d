"""The desired state of an archive, and the observed state: the two inputs of the planner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from reactor import SingleFile, UnpackingLimits
from reactor.hostfs import FileType
from reactor.resources.download.remote_source import Source


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state. ``ref`` is the identity of the resource."""

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
    """How many leading components of each path in the archive are dropped."""
    single: SingleFile | None = None
    """The file in a compressed file without an archive format."""
    limits: UnpackingLimits = field(default_factory=UnpackingLimits)


class ArchiveState(NamedTuple):
    """The observed state."""

    type: FileType
    wanted: tuple[int, int] = (0, 0)
    """The current ids of the desired owner and group."""
    is_owned: bool = False
    """Whether the archive belongs to the desired owner and group."""
    is_shared: bool = False
    """Whether the archive has other names (hard links)."""
    same_content: bool | None = None
    """Whether it has the desired checksum. Without one: False if it is known to come from another URL, else None."""
    creates_exists: bool | None = None
    """Whether the path that unpacking creates exists; None if nothing is unpacked."""
    partial: bool = False
    """Whether an interrupted download left its temporary file."""
    interrupted: bool = False
    """Whether an unpacking was interrupted."""
    outdated: bool = False
    """Whether the last unpacking is known to have been of another archive, or into another directory."""
