"""One member of an archive as the archive describes it, which `tree` verifies, and the limits of unpacking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import IO

from reactor.errors import ReactorError


class UnpackingError(ReactorError):
    """The archive is damaged, has a forbidden member, or exceeds ``limit``: members, unpacked or ratio; else empty."""

    code = "R0405"

    def __init__(self, message: str, hint: str | None = None, *, limit: str = "") -> None:
        super().__init__(message, hint)
        self.limit = limit


class MemberType(Enum):
    """The type of a member. Devices, FIFOs and sockets have none: they are refused."""

    FILE = "a file"
    DIRECTORY = "a directory"
    SYMLINK = "a symbolic link"
    HARD_LINK = "a hard link"


@dataclass(frozen=True, slots=True)
class Member:
    """``target`` is the target of a link. ``content`` opens the content of a file; call it at most once.

    ``mtime`` is in seconds since the epoch, None if unknown.
    """

    name: str
    type: MemberType
    mode: int
    mtime: float | None = None
    target: str = ""
    content: Callable[[], IO[bytes]] | None = None


def unsupported(name: str) -> UnpackingError:
    """Return the error for a member of an unsupported type."""
    return UnpackingError(f"the archive holds something that is neither file, directory nor link: {name!r}")


_GIB = 1 << 30
_ALWAYS = 64 << 20
"""Unpacked bytes that even the smallest archive may have: good compression alone does not make a zip bomb."""


@dataclass(frozen=True, slots=True)
class UnpackingLimits:
    """``size`` is the most unpacked bytes; ``ratio`` is how many times larger than the archive they may be."""

    members: int = 100_000
    size: int = 16 * _GIB
    ratio: int = 200

    def largest_from(self, packed: int) -> int:
        """The most bytes that an archive of ``packed`` bytes may unpack to without being a zip bomb."""
        return max(_ALWAYS, self.ratio * packed)


class Budget:
    """The remaining limits while an archive of ``packed`` bytes is unpacked."""

    def __init__(self, limits: UnpackingLimits, packed: int) -> None:
        self._limits = limits
        self._most = limits.largest_from(packed)
        self._members = 0

    def take_member(self) -> None:
        """Count one member. Raises UnpackingError if there are too many."""
        self._members += 1
        if self._members > self._limits.members:
            words = f"the archive holds more than {self._limits.members} members"
            raise UnpackingError(words, "raise the limit if you trust it", limit="members")

    def allow(self, total: int) -> None:
        """Raise UnpackingError if ``total`` unpacked bytes are too many for this archive."""
        if total > self._limits.size:
            words = f"the archive unpacks to more than {size_in_words(self._limits.size)}"
            raise UnpackingError(words, "raise the limit if you trust it", limit="unpacked")
        if total > self._most:
            words = f"the archive unpacks to more than {self._limits.ratio} times its size"
            hint = "it may be a decompression bomb: raise the limit if you trust it"
            raise UnpackingError(words, hint, limit="ratio")


def size_in_words(size: int) -> str:
    """Format a number of bytes for messages: ``64 MiB``."""
    amount, units = float(size), ["bytes", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:  # noqa: PLR2004 - binary units are powers of 1024
        amount, units = amount / 1024, units[1:]
    return f"{amount:.3g} {units[0]}"
