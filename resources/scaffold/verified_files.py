"""Remembers which files of the tree are known to be correct, so that only changed files are read again."""

from __future__ import annotations

import os
import time
from hashlib import blake2b
from typing import NamedTuple

from reactor.hostfs import Attributes, ErrorContext, Stamp, open_path, read, stamp_is_reliable, stamp_of
from reactor.resources.scaffold.state import Desired

PERMISSIONS = 0o777


class _Accepted(NamedTuple):
    """The result of the commands on a file with this text: the digest of its content, and its attributes."""

    text: str
    digest: bytes
    attributes: Attributes


class VerifiedFiles:
    """The files below ``root``, by relative path: the last stamp of correct ones, and what commands made of them."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._correct: dict[str, tuple[Stamp, str]] = {}
        """The stamp with which a file last held this text."""
        self._accepted: dict[str, _Accepted] = {}
        self._doubted: set[str] = set()
        """Files that must be written again, whatever they hold."""

    def holds(self, path: str, text: str, found: os.stat_result) -> bool:
        """Whether the regular file at ``path`` holds ``text``, or what the commands made of it. Raises ResourceError."""
        if path in self._doubted:
            return False
        stamp, now = stamp_of(found), time.time_ns()
        if self._correct.get(path) == (stamp, text):
            return True
        absolute = os.path.join(self._root, path)
        with ErrorContext(f"read {absolute}"):
            content = _content(absolute)
        accepted = self._accepted.get(path)
        same = content == text.encode() or (accepted is not None and accepted[:2] == (text, _digest(content)))
        if same and stamp_is_reliable(found, now):
            self._correct[path] = stamp, text
        return same

    def adjust(self, desired: Desired, path: str, text: str) -> Desired:
        """``desired``, with the managed attributes as the commands left them on a file with this ``text``."""
        accepted = self._accepted.get(path)
        if accepted is None or accepted.text != text:
            return desired
        return desired._replace(
            uid=None if desired.uid is None else accepted.attributes.uid,
            gid=None if desired.gid is None else accepted.attributes.gid,
            file_mode=None if desired.file_mode is None else accepted.attributes.mode,
        )

    def doubt(self, path: str) -> None:
        """Treat the file as wrong until `accept`."""
        self._doubted.add(path)

    def accept(self, path: str, text: str) -> None:
        """Treat the file as it is now as correct for ``text``. Raises ResourceError."""
        absolute = os.path.join(self._root, path)
        with ErrorContext(f"read {absolute}"):
            found = os.lstat(absolute)
            digest = _digest(_content(absolute))
        given = Attributes(found.st_uid, found.st_gid, found.st_mode & PERMISSIONS)
        self._accepted[path] = _Accepted(text, digest, given)
        self._doubted.discard(path)

    def has_accepted(self, path: str, text: str) -> bool:
        """Whether `accept` was called for this file and ``text``."""
        accepted = self._accepted.get(path)
        return accepted is not None and accepted.text == text


def _content(path: str) -> bytes:
    # Read only to compare. A file with other names (hard links) is replaced, and its content is never shown.
    fd = open_path(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return read(fd, os.fstat(fd).st_size + 1)
    finally:
        os.close(fd)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
