"""The directory of templates, with an index: a file is read again only when its stamp has changed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from reactor import DistrustedError, ResourceError, open_input, require_input_directory
from reactor.hostfs import ErrorContext, FileType, Stamp, scan_directory, stamp_is_reliable, stamp_of

PARTIALS = "_partials"
"""Directories and files with this name create no files: other templates include them."""
MOST_BYTES = 64 << 20
"""The largest template that is read."""


class _Template(NamedTuple):
    text: str
    stamp: Stamp | None
    """The stamp; None while it is not reliable."""


class SourceTree:
    """The templates below ``root``, by their relative paths."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: dict[str, _Template] = {}

    def refresh(self) -> frozenset[str]:
        """Read all templates. Returns the paths of templates that are new, removed or changed since the last time.

        Raises ResourceError for anything that is neither a directory nor a text file.
        """
        found = {path: self._look(path) for path in self._walk()}
        before, self._known = self._known, found
        return frozenset(
            path
            for path in before.keys() | found.keys()
            if before.get(path, _NONE).text != found.get(path, _NONE).text
        )

    def refresh_only(self, paths: Iterable[str]) -> frozenset[str] | None:
        """As `refresh`, for these paths only; None if all must be read, since a directory was added or removed."""
        paths = tuple(paths)
        if not all(path in self._known and os.path.isfile(self._absolute(path)) for path in paths):
            return None
        found = {path: self._look(path) for path in paths}
        changed = frozenset(path for path, now in found.items() if now.text != self._known[path].text)
        self._known.update(found)
        return changed

    def read(self, path: str) -> str | None:
        """The text of a template; None if there is none at this path."""
        template = self._known.get(path)
        return None if template is None else template.text

    def outputs(self) -> Iterator[str]:
        """The paths of the templates that create a file."""
        return (path for path in self._known if PARTIALS not in path.split("/"))

    def _absolute(self, path: str) -> str:
        return os.path.join(self.root, path)

    def _walk(self) -> Iterator[str]:
        """The paths of all templates, sorted by name. Without recursion, since a tree may be deeper than the stack."""
        pending = self._entries("")
        while pending:
            path, kind = pending.pop()
            if kind is FileType.DIRECTORY:
                pending += self._entries(path)
            elif kind is FileType.FILE:
                yield path
            else:
                hint = "a scaffold takes directories and regular files only"
                raise ResourceError(f"{self._absolute(path)} is not a template", hint)

    def _entries(self, directory: str) -> list[tuple[str, FileType]]:
        """The entries of the directory, the last name first."""
        with (
            ErrorContext(f"read the templates in {self.root}"),
            _refusing(),
            self._scanned(directory) as entries,
        ):
            listed = [(os.path.join(directory, entry.name), _type_of(entry)) for entry in entries]
        return sorted(listed, key=lambda each: each[0], reverse=True)

    def _scanned(self, directory: str) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """Open the listing of a directory, after checking that no other user can add or remove templates in it."""
        absolute = self._absolute(directory)
        require_input_directory(absolute)
        return scan_directory(absolute)

    def _look(self, path: str) -> _Template:
        absolute = self._absolute(path)
        known, now = self._known.get(path), time.time_ns()
        with ErrorContext(f"read the template {absolute}"), _refusing():
            found = os.lstat(absolute)
            if known is not None and known.stamp == stamp_of(found):
                return known
            text = read_template(
                absolute, found, "keep other files out of the tree, or copy them with file: source"
            )
        return _Template(text, stamp_of(found) if stamp_is_reliable(found, now) else None)


def read_template(path: str, found: os.stat_result, hint: str) -> str:
    """The text of the template at ``path``, of which ``found`` is the stat.

    Raises OSError, DistrustedError, and ResourceError with ``hint`` for anything but a regular file of UTF-8 text.
    """
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):  # a device may be without end
        raise ResourceError(f"the template {path} is not a regular file", "correct the path")
    with open(path, "rb", opener=open_input) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ResourceError(f"{path} is larger than {MOST_BYTES >> 20} MiB, too large for a template", hint)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ResourceError(f"{path} is not UTF-8 text at byte {error.start}", hint) from error


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn a DistrustedError, about templates that other users can change, into a ResourceError."""
    try:
        yield
    except DistrustedError as error:
        raise ResourceError(f"the templates can't be trusted: {error}", error.hint) from error


def _type_of(entry: os.DirEntry[str]) -> FileType:
    if entry.is_dir(follow_symlinks=False):
        return FileType.DIRECTORY
    return FileType.FILE if entry.is_file(follow_symlinks=False) else FileType.DEVICE


_NONE = _Template("\0", None)
