"""The installed packages of rpm, all queried at once whenever its database has changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cmp_to_key

from reactor import PathWatch, ResourceError, Watch, in_thread
from reactor.resources.package import rpm_versions
from reactor.resources.package.commands import PackageCommands
from reactor.resources.package.database import Database, Stamps, stamp_of
from reactor.resources.package.dnf_files import automatic_packages, history_files
from reactor.resources.package.planner import NOT_INSTALLED, PackageState
from reactor.resources.package.transaction import Versions

_DIRECTORIES = ("/usr/lib/sysimage/rpm", "/var/lib/rpm")
_FILES = ("rpmdb.sqlite", "Packages.db", "Packages")
"""The formats of rpm: SQLite since 4.16, ndb of SUSE, Berkeley DB before."""
FORMAT = r"%{NAME}\t%{ARCH}\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n"
"""The output format of rpm: name, architecture and version."""
_AGE = cmp_to_key(rpm_versions.compare)
_ERROR = re.compile(r"^error: (.*)", re.MULTILINE)
_LINE = re.compile(r"^(\S+)\t(\S+)\t(\S+)$", re.MULTILINE)


class RpmDatabase(Database):
    """The database below ``root``."""

    def __init__(self, root: str, programs: PackageCommands) -> None:
        self._root = root
        self._programs = programs
        self.file = _find(root)
        self.locks = (f"{os.path.dirname(self.file)}/.rpm.lock",)
        self._packages: dict[str, list[tuple[str, str]]] = {}
        self._automatic: frozenset[tuple[str, str]] = frozenset()

    def watches(self) -> Iterable[Watch]:
        """The watch of the database file itself: the other files of the database also change when it is read."""
        return (PathWatch(self.file, is_input=True),)

    def find(self, name: str) -> PackageState:
        """The state of a package by name, or by name and architecture as in ``glibc.i686``.

        Of several versions, the newest, with the others in ``beside``.
        """
        found = self._packages.get(name, [])
        if not found:
            name, _, architecture = name.rpartition(".")
            found = [each for each in self._packages.get(name, ()) if each[0] == architecture]
        if not found:
            return NOT_INSTALLED
        newest = max(found, key=lambda each: _AGE(each[1]))
        beside = (version for arch, version in found if arch == newest[0] and version != newest[1])
        is_automatic = (name, newest[0]) in self._automatic
        return PackageState(newest[1], beside=tuple(beside), is_automatic=is_automatic)

    def versions(self) -> Versions:
        """All installed packages; several architectures count as one package."""
        return {
            name: frozenset(version.removeprefix("0:") for _, version in found)
            for name, found in self._packages.items()
        }

    def _files(self) -> tuple[str, ...]:
        return (self.file,)

    def _read_stamps(self) -> Stamps:
        """As in the base class, with the history of dnf. SQLite changes the ctime of its log by reading it."""
        history = map(stamp_of, history_files(self._root))
        return (*super()._read_stamps(), *(stamp and stamp._replace(changed=0) for stamp in history))

    def _check_exists(self) -> None:
        """Raise ResourceError when there is no database: rpm would silently create an empty one."""
        if not self._root and not os.path.exists(_find(self._root)):
            hint = "restore it from a backup; rpm --initdb creates an empty one"
            raise ResourceError(f"the database of rpm is gone: there is no {self.file}", hint)

    async def _read(self) -> None:
        self._check_exists()
        root = ("--root", self._root) if self._root else ()
        text = await self._programs.read("rpm", *root, "-qa", "--queryformat", FORMAT)
        if (
            problem := _ERROR.search(text)
        ) is not None:  # rpm exits with 0 also when it skips unreadable entries
            hint = "run rpmdb --verifydb; rpmdb --rebuilddb repairs it as far as possible"
            raise ResourceError(f"rpm can't list the installed packages: {problem[1]}", hint)
        self._packages = {}
        for name, architecture, version in _LINE.findall(text):
            self._packages.setdefault(name, []).append((architecture, version))
        self._automatic = await in_thread(automatic_packages, self._root)


def _find(root: str) -> str:
    """The path of the present or future database. One of the two directories is a link to the other, or empty."""
    files = [f"{root}{directory}/{file}" for directory in _DIRECTORIES for file in _FILES]
    return next(filter(os.path.exists, files), f"{root}{_DIRECTORIES[-1]}/{_FILES[0]}")
