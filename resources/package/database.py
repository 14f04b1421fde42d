"""The base class of both databases of installed packages. A database is read again when its files have changed."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from reactor import PathState, Watch
from reactor.resources.package.planner import PackageState
from reactor.resources.package.transaction import Versions


class Stamp(NamedTuple):
    """The fields that change with every change of a file or directory. Times in nanoseconds."""

    inode: int
    size: int
    modified: int
    changed: int


Stamps = tuple[Stamp | None, ...]


UNITS = "/usr/lib/systemd/system"
"""The directory of the systemd units of packages."""
UNITS_BELOW = "/lib/systemd/system/"
"""The common part of the paths of units, with or without a merged ``/usr``."""


class Database(ABC):
    """The installed packages, shared by all resources. ``locks`` are the files that package managers lock."""

    locks: tuple[str, ...]
    _stamps: Stamps | None = None

    def is_current(self) -> bool:
        """Whether the database has not changed since the last `load`."""
        return self._stamps is not None and self._stamps == self._read_stamps()

    async def load(self) -> None:
        """Read the database, unless it is current. Raises ResourceError or OSError when it can't be read."""
        stamps = self._read_stamps()
        if stamps != self._stamps:
            await self._read()
            self._stamps = stamps  # taken before reading, so that later changes are read again

    def forget(self) -> None:
        """Make the next `load` read again after our own change: SQLite may keep it in another file for some time."""
        self._stamps = None

    @abstractmethod
    def watches(self) -> Iterable[Watch]:
        """The watches for all changes."""

    @abstractmethod
    def find(self, name: str) -> PackageState:
        """The state of a package, as of the last `load`."""

    @abstractmethod
    def versions(self) -> Versions:
        """All installed packages, as of the last `load`."""

    def units(self, name: str) -> list[str]:  # noqa: ARG002 - for rpm this would take a process
        """The paths of the systemd units in the installed package ``name``, if they are cheap to find out."""
        return []

    def lasting_state(self) -> Sequence[PathState] | None:
        """The states of paths with which everything that was read lasts; None if stamps don't tell, as with SQLite."""
        return None

    @abstractmethod
    def _files(self) -> tuple[str, ...]:
        """The files and directories whose stamps change with every change."""

    @abstractmethod
    async def _read(self) -> None: ...

    def _read_stamps(self) -> Stamps:
        return tuple(map(stamp_of, self._files()))


def stamps_of(paths: Iterable[str]) -> Stamps:
    """The stamps of files, and of directories with their entries: writing to a file does not change its directory."""
    found = []
    for path in paths:
        found.append(stamp_of(path))
        with suppress(FileNotFoundError, NotADirectoryError):
            found += [stamp_of(f"{path}/{name}") for name in sorted(os.listdir(path))]
    return tuple(found)


def stamp_of(path: str) -> Stamp | None:
    """The stamp of the file or directory at ``path``; None if it does not exist."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
