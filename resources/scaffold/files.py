"""Compares one file of the tree with a string, or with the result of its commands.

The owner of the tree may make a file of any length, so only as many bytes are read as the expected content has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self

from reactor.hostfs import Attributes, digest_of, open_path, read
from reactor.resources.scaffold.state import Desired

PERMISSIONS = 0o777


class Accepted(NamedTuple):
    """The result of the commands on a file with this text: size and digest of the content, and changed attributes."""

    text: str
    size: int
    digest: str | None
    uid: int | None
    gid: int | None
    mode: int | None

    @classmethod
    def at(cls, path: str, text: str, before: Attributes, former: Accepted | None) -> Self:
        """The result, at the absolute ``path``, of commands that started from ``text`` and the attributes ``before``.

        An attribute that the commands did not change keeps its value in ``former``, the last result for the same text.
        Raises OSError.
        """
        found = os.lstat(path)
        known = (None, None, None) if former is None or former.text != text else former[3:]
        made = zip(attributes_of(found), before, known, strict=True)
        changed = [now if now != then else same for now, then, same in made]
        return cls(text, found.st_size, _digest(path, found.st_size), *changed)

    def is_at(self, path: str, size: int) -> bool:
        """Whether the file at the absolute ``path``, of this size, has the same content."""
        return size == self.size and self.digest is not None and self.digest == _digest(path, size)

    def adjust(self, desired: Desired) -> Desired:
        """``desired``, with the managed attributes as the commands left them."""
        return desired._replace(
            uid=desired.uid if None in (desired.uid, self.uid) else self.uid,
            gid=desired.gid if None in (desired.gid, self.gid) else self.gid,
            file_mode=desired.file_mode if None in (desired.file_mode, self.mode) else self.mode,
        )


def attributes_of(found: os.stat_result) -> Attributes:
    """Owner, group and permissions."""
    return Attributes(found.st_uid, found.st_gid, found.st_mode & PERMISSIONS)


def has_exactly(path: str, content: bytes) -> bool:
    """Whether the file has exactly this content."""
    with _opened(path) as fd:
        return read(fd, len(content) + 1) == content


def _digest(path: str, size: int) -> str | None:
    """The digest of the file; None if it is longer than ``size``."""
    with _opened(path) as fd:
        return digest_of(fd, "blake2b", most=size)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    # Read only to compare. A file with other names (hard links) is replaced, and its content is never shown.
    fd = open_path(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)
