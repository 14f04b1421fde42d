"""One thing in an archive, as the archive describes it: nothing of it is believed before `tree` has looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import IO

from reactor.errors import ReactorError


class UnpackingError(ReactorError):
    """The archive is damaged, or holds something that it must not; ``hint`` says how to mend it, where that is known."""

    code = "R0405"


class MemberType(Enum):
    """What a member is. There is nothing else: devices, FIFOs and sockets are refused where they are read."""

    FILE = "a file"
    DIRECTORY = "a directory"
    SYMLINK = "a symbolic link"
    HARD_LINK = "a hard link"


@dataclass(frozen=True, slots=True)
class Member:
    """``target`` is where a link leads; ``content`` opens what a file holds, and is called at most once.

    ``mtime`` is in seconds since the epoch, None where the archive does not say.
    """

    name: str
    type: MemberType
    mode: int
    mtime: float | None = None
    target: str = ""
    content: Callable[[], IO[bytes]] | None = None


def unsupported(name: str) -> UnpackingError:
    """The error for a member that is none of the types."""
    return UnpackingError(f"the archive holds something that is neither file, directory nor link: {name!r}")
