"""What a scaffold found: the input of its decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from reactor.hostfs import Attributes, Change


class Desired(NamedTuple):
    """What is asked of owner, group and modes; None where that is left alone."""

    uid: int | None = None
    gid: int | None = None
    file_mode: int | None = None
    directory_mode: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A file or directory of the tree that is not as desired."""

    path: str
    attributes: Attributes
    """What it is to have."""
    text: str | None = None
    """What it is to hold; None for a directory, and for a file of which only attributes differ."""
    changes: tuple[Change, ...] = ()
    """The attributes that differ."""


@dataclass(frozen=True, slots=True)
class ScaffoldState:
    """The tree on the disk, compared with what the templates make. All paths are absolute, and in order."""

    changed: tuple[Difference, ...] = ()
    """Files to be made or changed."""
    purged: tuple[str, ...] = ()
    """Files that no template makes."""
    directories: tuple[Difference, ...] = ()
    """Directories to be made, or with other attributes; a directory comes before what is in it."""
    managed: tuple[str, ...] = ()
    """The files of the scaffold that are there: what ``absent`` removes."""
    empty: tuple[str, ...] = ()
    """Directories of the scaffold without any file below, as a killed run leaves them: what ``absent`` removes. Deepest first."""
    empty_others: tuple[str, ...] = ()
    """Those that no template needs."""
    stale_temporaries: tuple[str, ...] = ()
    """Temporary files that a killed run left."""
