"""One file of the tree, compared with a text, or with what commands made of it.

Whoever owns the tree may make a file of any length: no more of it is read than can be as wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self

from reactor.hostfs import Attributes, digest_of, open_path, read
from reactor.resources.scaffold.state import Desired

_PERMISSIONS = 0o777


class Accepted(NamedTuple):
    """What commands made of a file with this text: the size and digest of what it holds, and the attributes they changed."""

    text: str
    size: int
    digest: str | None
    uid: int | None
    gid: int | None
    mode: int | None

    @classmethod
    def at(cls, path: str, text: str, before: Attributes, former: Accepted | None) -> Self:
        """What is at the absolute ``path``, where a file with these attributes and this text was. Raises OSError.

        What commands made of the attributes before, as ``former`` says, they need not have changed once more.
        """
        found = os.lstat(path)
        known = (None, None, None) if former is None or former.text != text else former[3:]
        made = zip(attributes_of(found), before, known, strict=True)
        changed = [now if now != then else same for now, then, same in made]
        return cls(text, found.st_size, _digest(path, found.st_size), *changed)

    def is_at(self, path: str, size: int) -> bool:
        """Whether the file at the absolute ``path``, of this size, holds the same."""
        return size == self.size and self.digest is not None and self.digest == _digest(path, size)

    def adjust(self, desired: Desired) -> Desired:
        """The same wish, with what the commands made of the attributes that are managed."""
        return desired._replace(
            uid=desired.uid if None in (desired.uid, self.uid) else self.uid,
            gid=desired.gid if None in (desired.gid, self.gid) else self.gid,
            file_mode=desired.file_mode if None in (desired.file_mode, self.mode) else self.mode,
        )


def attributes_of(found: os.stat_result) -> Attributes:
    """Owner, group and permissions."""
    return Attributes(found.st_uid, found.st_gid, found.st_mode & _PERMISSIONS)


def holds_just(path: str, content: bytes) -> bool:
    """Whether the file holds this, and no more."""
    with _opened(path) as fd:
        return read(fd, len(content) + 1) == content


def _digest(path: str, size: int) -> str | None:
    """That of a file which is no longer than ``size``, else None."""
    with _opened(path) as fd:
        return digest_of(fd, "blake2b", most=size)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    fd = open_path(
        path, os.O_RDONLY | os.O_NONBLOCK
    )  # to compare: a file with other names is replaced, not shown
    try:
        yield fd
    finally:
        os.close(fd)
