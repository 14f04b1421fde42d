"""What both databases of installed packages have in common: they are read once for each state of their files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from reactor import Watch
from reactor.resources.package.planner import PackageState
from reactor.resources.package.transaction import Versions


class Stamp(NamedTuple):
    """What changes whenever a file or directory does. Times in nanoseconds."""

    inode: int
    size: int
    modified: int
    changed: int


Stamps = tuple[Stamp | None, ...]


UNITS = "/usr/lib/systemd/system"
"""Where packages put units."""
UNITS_BELOW = "/lib/systemd/system/"
"""What their paths have in common, with a merged ``/usr`` or without."""


class Database(ABC):
    """The packages installed, shared by all resources. ``lock`` is the file that every package manager locks."""

    lock: str
    _stamps: Stamps | None = None

    def is_current(self) -> bool:
        """Whether nothing has changed since the last `load`."""
        return self._stamps is not None and self._stamps == self._look()

    async def load(self) -> None:
        """Read everything, unless it is current. Raises ResourceError or OSError when it can't be read."""
        stamps = self._look()
        if stamps != self._stamps:
            await self._read()
            self._stamps = stamps  # taken before reading: what changes meanwhile is read again

    def forget(self) -> None:
        """Read again what was changed by ourselves: while others read it, SQLite keeps that in another file for a time."""
        self._stamps = None

    @abstractmethod
    def watch(self) -> Watch:
        """What tells of every change."""

    @abstractmethod
    def find(self, name: str) -> PackageState:
        """The state of a package, as of the last `load`."""

    @abstractmethod
    def versions(self) -> Versions:
        """All packages that are there, as of the last `load`."""

    def units(self, name: str) -> list[str]:  # noqa: ARG002 - rpm's database does not tell without a process
        """The paths of the systemd units that the installed package ``name`` has brought, where that is cheap to tell."""
        return []

    @abstractmethod
    def _files(self) -> tuple[str, ...]:
        """The files and directories whose stamps change with every change."""

    @abstractmethod
    async def _read(self) -> None: ...

    def _look(self) -> Stamps:
        return tuple(map(stamp_of, self._files()))


def stamps_of(paths: Iterable[str]) -> Stamps:
    """The stamps of files, and of directories with all that is in them: to write a file in place does not change those."""
    found = []
    for path in paths:
        found.append(stamp_of(path))
        with suppress(FileNotFoundError, NotADirectoryError):
            found += [stamp_of(f"{path}/{name}") for name in sorted(os.listdir(path))]
    return tuple(found)


def stamp_of(path: str) -> Stamp | None:
    """The stamp of the file or directory at ``path``; None when there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
