"""Which paths name the same file, because of a symlink, a bind mount or a hard link."""

from __future__ import annotations

import os
import stat
from collections.abc import Container
from contextlib import suppress

from reactor.mountinfo import is_fragile, read_mounts
from reactor.named_tuple import NamedTuple

_MAX_SYMLINKS = 40
"""The kernel's limit."""


class DirectoryEntry(NamedTuple):
    """A name in a directory. Two equal entries are one file, whatever their paths are."""

    device: int
    inode: int
    base: str


def entry_of(path: str) -> DirectoryEntry | None:
    """The entry that the absolute ``path`` means now; None if its directory does not exist.

    Makes one stat(2) of the directory, which hangs if a mount on the way does: ask `fragile_mounts` first.
    """
    directory, _, base = path.rpartition("/")
    found = directory_id_of(directory)
    return None if found is None else DirectoryEntry(*found, base)


def directory_id_of(directory: str) -> tuple[int, int] | None:
    """Device and inode of the absolute ``directory`` (empty for the root); None and hanging as for `entry_of`."""
    try:
        found = os.stat(directory or "/")
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def hard_link_of(path: str) -> DirectoryEntry | None:
    """The identity of the regular file at the absolute ``path`` if it has other names (hard links).

    None if it has none. Otherwise as `entry_of`.
    """
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    is_shared = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
    return DirectoryEntry(found.st_dev, found.st_ino, "") if is_shared else None


class RealPaths:
    """Resolves the symlinks among the directories of paths, as the host is now. Reads each directory once.

    Reads nothing below a mount that may hang, and follows no symlink in ``managed``: the manifest decides what these
    will be, so they may no longer be symlinks when a check runs.
    """

    def __init__(self, managed: Container[str] = ()) -> None:
        self._managed = managed
        self._directories = {"": "/", "/": "/"}
        self._steps: dict[str, str] = {}
        self._out_of_reach: set[str] = set()
        self._ids: dict[str, tuple[int, int] | None] = {}
        with suppress(OSError):  # there is no /proc
            self._out_of_reach.update(info.point for info in read_mounts() if is_fragile(info))

    def of(self, path: str) -> str:
        """The absolute ``path`` in its real directory. Does not follow its last component.

        Anything else is returned unchanged.
        """
        if not path.startswith("/"):
            return path
        directory, _, base = path.rpartition("/")
        above = self._directory(directory)
        return path if above == directory else f"{above.rstrip('/')}/{base}"

    def destination(self, path: str) -> str:
        """The destination of the absolute ``path``, with its last component followed too, without a trailing slash."""
        return self._directory(path.rstrip("/"))

    def followed(self, path: str) -> str:
        """As `of`, but follows the last component if another path leads through it. Keeps a trailing slash."""
        return self._directories.get(path) or self.of(path)

    def entry(self, path: str) -> DirectoryEntry | None:
        """As `entry_of`, if that can't hang; else None."""
        directory, _, base = path.rpartition("/")
        found = self.directory_id(directory)
        return None if found is None else DirectoryEntry(*found, base)

    def directory_id(self, directory: str) -> tuple[int, int] | None:
        """As `directory_id_of`, if that can't hang; else None."""
        if directory not in self._ids:
            self._ids[directory] = self._read_id(self._directory(directory))
        return self._ids[directory]

    def _read_id(self, directory: str) -> tuple[int, int] | None:
        if directory in self._out_of_reach:
            return None
        try:
            found = os.lstat(directory)
        except (OSError, ValueError):
            return None
        return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None

    def _directory(self, path: str) -> str:
        """The real path of the directory ``path``, resolved from its nearest known parent on."""
        if (known := self._directories.get(path)) is not None:
            return known
        missing = []
        while (known := self._directories.get(path)) is None:
            missing.append(path)
            path = path.rpartition("/")[0]
        for below in reversed(missing):
            known = self._directories[below] = self._step(known, below.rpartition("/")[2], 0)
        return known

    def _step(self, above: str, name: str, links: int) -> str:
        """The real path of ``name`` in the real directory ``above``."""
        here = f"{above.rstrip('/')}/{name}"
        if here not in self._steps:
            self._steps[here] = here  # a symlink to itself leads nowhere
            if above in self._out_of_reach:
                self._out_of_reach.add(here)
            elif here not in self._out_of_reach and here not in self._managed and links < _MAX_SYMLINKS:
                self._steps[here] = self._target(above, here, links)
        return self._steps[here]

    def _target(self, above: str, here: str, links: int) -> str:
        try:
            if not stat.S_ISLNK(os.lstat(here).st_mode):
                return here
            target = os.readlink(here)
        except (OSError, ValueError):
            return here
        reached = "/" if target.startswith("/") else above
        for name in target.split("/"):
            if name == "..":
                reached = os.path.dirname(reached)
            elif name not in ("", "."):
                reached = self._step(reached, name, links + 1)
        return reached
