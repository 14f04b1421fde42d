"""The desired attributes of a scaffold, and the observed differences: the input of the planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from reactor.hostfs import Attributes, Change


class Desired(NamedTuple):
    """The desired owner, group and modes; None means not managed."""

    uid: int | None = None
    gid: int | None = None
    file_mode: int | None = None
    directory_mode: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A file or directory of the tree that is not as desired."""

    path: str
    attributes: Attributes
    """The desired attributes."""
    text: str | None = None
    """The desired content; None for a directory, and for a file of which only attributes differ."""
    changes: tuple[Change, ...] = ()
    """The attributes that differ."""


@dataclass(frozen=True, slots=True)
class ScaffoldState:
    """The tree on the disk, compared with the rendered files. All paths are absolute and sorted."""

    changed: tuple[Difference, ...] = ()
    """Files that are missing or differ."""
    purged: tuple[str, ...] = ()
    """Files without a template."""
    directories: tuple[Difference, ...] = ()
    """Directories that are missing or differ; each before its content."""
    managed: tuple[str, ...] = ()
    """The existing files of the scaffold, which ``absent`` removes."""
    empty: tuple[str, ...] = ()
    """Directories of the scaffold without any file below, which ``absent`` removes, the deepest first. A killed run
    leaves them."""
    empty_others: tuple[str, ...] = ()
    """Empty directories that no template needs."""
    stale_temporaries: tuple[str, ...] = ()
    """Temporary files of a killed run."""
