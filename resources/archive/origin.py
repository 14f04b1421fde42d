"""Where the content of a file came from, noted on the very file: an extended attribute goes where the file goes.

So it needs no file of its own, can't be left behind, and can't speak of another file that took the place. On a file
system without such attributes nothing is noted, and an archive is fetched again where it could have been asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Self

_ATTRIBUTE = "user.reactor.origin"
_LONGEST = 1024


def fingerprint(url: str) -> str:
    """A name for ``url`` that gives nothing of it away: a query may hold a token."""
    return hashlib.sha256(url.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Origin:
    """``url`` is a `fingerprint`; ``etag`` and ``last_modified`` are what the server calls this version, if it does.

    ``checksum`` is the SHA-256 of the content, empty while that is not complete.
    """

    url: str
    etag: str = ""
    last_modified: str = ""
    checksum: str = ""

    @classmethod
    def of(cls, file: int | str) -> Self | None:
        """What is noted on the file at a path or descriptor; None where nothing is, or nothing of ours."""
        try:
            noted = json.loads(os.getxattr(file, _ATTRIBUTE, follow_symlinks=isinstance(file, int)))
            values = [noted[name] for name in cls.__slots__]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not all(isinstance(value, str) and value.isascii() and value.isprintable() for value in values):
            return None
        return cls(*values)

    def note(self, fd: int) -> None:
        """Note it on the file at ``fd``, where the file system takes it."""
        known = self if len(self.etag) + len(self.last_modified) < _LONGEST else Origin(self.url)
        with suppress(OSError):
            os.setxattr(fd, _ATTRIBUTE, json.dumps(asdict(known)).encode())

    def complete(self, checksum: str) -> Origin:
        """The same, with the content known."""
        return replace(self, checksum=checksum)

    @property
    def can_resume(self) -> bool:
        """Whether the server can tell that it still has the same bytes: a weak ETag only says, something alike."""
        return bool(self.etag) and not self.etag.startswith("W/")
