"""The origin of a download: its URL, the server's name for the version (ETag, Last-Modified), and the checksum.

With it, the next request can ask for a newer version only. The origin of a complete download is recorded in the state
directory, not in the file, since other users may be able to write to the file. Without a state directory, the file is
downloaded again. The origin of an unfinished download is an extended attribute of the temporary file, which only we
can write to.
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
    """A hash of ``url``: the URL itself may contain a secret token."""
    return hashlib.sha256(url.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one file.

    ``url`` is a `fingerprint`; ``etag`` and ``last_modified`` are from the server's answer, or empty.
    ``checksum`` is the SHA-256 of the complete content, empty before.
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
        """The recorded origin of the file that we put at ``path``; None if there is none."""
        return cls._parsed(read_record(_KIND, path))

    def record(self, path: str) -> None:
        """Record the origin of the file at ``path``. If that fails, the file is only downloaded again later."""
        with suppress(OSError):
            write_record(_KIND, path, asdict(self._bounded()))

    @staticmethod
    def forget(path: str) -> None:
        """Remove the record for ``path``."""
        forget_record(_KIND, path)

    @classmethod
    def noted(cls, fd: int) -> Self | None:
        """The origin of the unfinished download open at ``fd``; None if there is none."""
        try:
            return cls._parsed(json.loads(os.getxattr(fd, _ATTRIBUTE)))
        except (OSError, ValueError):
            return None

    def note(self, fd: int) -> None:
        """Attach the origin to the unfinished download open at ``fd``, if its file system has extended attributes."""
        with suppress(OSError):
            os.setxattr(fd, _ATTRIBUTE, json.dumps(asdict(self._bounded())).encode())

    @staticmethod
    def remove_note(fd: int) -> None:
        """Remove the origin from the download open at ``fd``, which is complete."""
        with suppress(OSError):
            os.removexattr(fd, _ATTRIBUTE)

    def _bounded(self) -> Origin:
        return self if len(self.etag) + len(self.last_modified) < _LONGEST else Origin(self.url)

    def complete(self, checksum: str) -> Origin:
        """The origin with the checksum of the complete content."""
        return replace(self, checksum=checksum)

    @property
    def can_resume(self) -> bool:
        """Whether the server can confirm that it still has the same bytes.

        A weak ETag confirms equivalent content only.
        """
        return bool(self.etag) and not self.etag.startswith("W/")
