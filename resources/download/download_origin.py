"""Where an archive came from: what tells the server which version is here, and us whether it is still those bytes.

Of a whole archive it is recorded in the state directory. The file itself may lie where others write, so nothing on it
can vouch for it; without a state directory, an archive is fetched again where the server could have been asked. Of an
unfinished download it is noted on the temporary file, as an extended attribute, which only we can write to.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from reactor.hostfs import forget_record, read_record, write_record

_ATTRIBUTE = "user.reactor.origin"
_KIND = "archive"
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
    def _parsed(cls, noted: Any) -> Self | None:
        try:
            values = [noted[name] for name in cls.__slots__]
        except (KeyError, TypeError):
            return None
        if not all(isinstance(value, str) and value.isascii() and value.isprintable() for value in values):
            return None
        return cls(*values)

    @classmethod
    def recorded(cls, path: str) -> Self | None:
        """What was recorded of the archive that we put at ``path``; None where nothing was."""
        return cls._parsed(read_record(_KIND, path))

    def record(self, path: str) -> None:
        """Record it for the archive at ``path``. A record that can't be kept costs a download, and nothing else."""
        with suppress(OSError):
            write_record(_KIND, path, asdict(self._bounded()))

    @staticmethod
    def forget(path: str) -> None:
        """There is no archive of ours at ``path`` any more."""
        forget_record(_KIND, path)

    @classmethod
    def noted(cls, fd: int) -> Self | None:
        """What is noted on the unfinished download open at ``fd``; None where nothing is."""
        try:
            return cls._parsed(json.loads(os.getxattr(fd, _ATTRIBUTE)))
        except (OSError, ValueError):
            return None

    def note(self, fd: int) -> None:
        """Note it on the unfinished download open at ``fd``, where the file system takes it."""
        with suppress(OSError):
            os.setxattr(fd, _ATTRIBUTE, json.dumps(asdict(self._bounded())).encode())

    @staticmethod
    def remove_note(fd: int) -> None:
        """The download open at ``fd`` is whole."""
        with suppress(OSError):
            os.removexattr(fd, _ATTRIBUTE)

    def _bounded(self) -> Origin:
        return self if len(self.etag) + len(self.last_modified) < _LONGEST else Origin(self.url)

    def complete(self, checksum: str) -> Origin:
        """The same, with the content known."""
        return replace(self, checksum=checksum)

    @property
    def can_resume(self) -> bool:
        """Whether the server can tell that it still has the same bytes: a weak ETag only says, something alike."""
        return bool(self.etag) and not self.etag.startswith("W/")
