"""What an archive resource asks for, and what was found: the two inputs of the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from reactor import SingleFile, UnpackingLimits
from reactor.hostfs import FileType
from resources.source_properties import shown_url


@dataclass(frozen=True, slots=True)
class Source:
    """Where an archive comes from. ``max_size`` is in bytes, ``timeout`` in seconds."""

    url: str
    """Without credentials."""
    headers: Mapping[str, str] = field(repr=False)
    credentials: tuple[str, str] | None = field(repr=False)
    max_size: int
    timeout: float

    @property
    def shown(self) -> str:
        """The URL for people: a query may hold a token."""
        return shown_url(self.url)


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """The URL without user and password, and these."""
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
    if parts.username is None:
        return bare, None
    return bare, (unquote(parts.username), unquote(parts.password or ""))


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
