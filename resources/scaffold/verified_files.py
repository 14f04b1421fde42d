"""Records which files of the tree are known to be correct, so that only changed files are read again."""

from __future__ import annotations

import os
import time

from reactor.hostfs import Attributes, ErrorContext, Stamp, stamp_is_reliable, stamp_of
from reactor.resources.scaffold.files import Accepted, has_exactly
from reactor.resources.scaffold.state import Desired


class VerifiedFiles:
    """The files below ``root``, by relative path: the last stamp of each correct file, and the results of commands."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._correct: dict[str, tuple[Stamp, str]] = {}
        """The stamp and text of each file when it was last correct."""
        self._accepted: dict[str, Accepted] = {}
        self._doubted: set[str] = set()
        """Files that must be written again, whatever they contain."""

    def read_again(self) -> None:
        """Forget the stamps of correct files."""
        self._correct.clear()

    def holds(self, path: str, text: str, found: os.stat_result) -> bool:
        """Whether the regular file at ``path`` contains ``text``, or the result of its commands.

        Raises ResourceError.
        """
        if path in self._doubted:
            return False
        stamp, now = stamp_of(found), time.time_ns()
        if self._correct.get(path) == (stamp, text):
            return True
        absolute = os.path.join(self._root, path)
        with ErrorContext(f"read {absolute}"):
            same = self._is_correct(path, absolute, text, found.st_size)
        if same and stamp_is_reliable(found, now):
            self._correct[path] = stamp, text
        return same

    def _is_correct(self, path: str, absolute: str, text: str, size: int) -> bool:
        """Whether the content is correct.

        A file of another size is not read: its owner may have made it of any length.
        """
        wanted = text.encode()
        if size == len(wanted) and has_exactly(absolute, wanted):
            return True
        accepted = self._accepted.get(path)
        return accepted is not None and accepted.text == text and accepted.is_at(absolute, size)

    def adjust(self, desired: Desired, path: str, text: str) -> Desired:
        """``desired``, with the managed attributes as the commands left them on a file with this ``text``."""
        accepted = self._accepted.get(path)
        return desired if accepted is None or accepted.text != text else accepted.adjust(desired)

    def invalidate(self, path: str) -> None:
        """Treat the file as wrong until `accept`."""
        self._doubted.add(path)

    def accept(self, path: str, text: str, made: str, before: Attributes) -> None:
        """Treat the file at the absolute path ``made`` as the right result for ``text`` and the attributes ``before``.

        Raises ResourceError.
        """
        with ErrorContext(f"read {made}"):
            self._accepted[path] = Accepted.at(made, text, before, self._accepted.get(path))
        self._doubted.discard(path)

    def has_accepted(self, path: str, text: str) -> bool:
        """Whether `accept` was called for this file and ``text``."""
        accepted = self._accepted.get(path)
        return accepted is not None and accepted.text == text
