"""The installed packages of dpkg, read from its status file without starting a process."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from reactor import PathState, PathWatch, ResourceError, Watch, in_thread
from reactor.resources.package.database import UNITS_BELOW, Database
from reactor.resources.package.planner import NOT_INSTALLED, PackageState
from reactor.resources.package.transaction import Versions

PROGRAM = "/usr/bin/apt-get"
"""The program by which a host of apt is known."""
_FIELDS = re.compile(
    r"^(Package|Status|Architecture|Version|Essential|Protected|Important|Provides): (.*)", re.MULTILINE
)
_AUTOMATIC = re.compile(r"^Package: (\S+)\nArchitecture: (\S+)\nAuto-Installed: 1$", re.MULTILINE)
_VITAL = ("Essential", "Protected", "Important")
"""The fields that mark a package as essential for the host."""
_NAME = re.compile(r"[ (:]")
"""The end of the name in an entry of Provides, such as ``mta (= 1.0)``."""
_MANAGERS = ("apt", "dpkg")
_UNITS_BELOW = UNITS_BELOW.encode()

_ABSENT = {"not-installed", "config-files"}
_UNPACKED = {"unpacked", "half-configured", "triggers-awaited", "triggers-pending"}


class DpkgDatabase(Database):
    """The database in ``directory``, usually ``/var/lib/dpkg``.

    While dpkg works, and after an interruption, the newest entries are in separate files in ``updates``. ``marks`` is the
    file of apt that tells which packages came as dependencies, usually ``/var/lib/apt/extended_states``.
    """

    def __init__(self, directory: str, marks: str) -> None:
        # dpkg itself locks the second. It alone is left to a dpkg whose apt was killed.
        self.locks = (f"{directory}/lock-frontend", f"{directory}/lock")
        self._directory = directory
        self._status = f"{directory}/status"
        self._updates = f"{directory}/updates"
        self._marks = marks
        self._entries: dict[str, dict[str, PackageState]] = {}
        self._provides: dict[str, dict[str, list[str]]] = {}
        self._native = ""
        self.was_interrupted = False
        """Whether dpkg was interrupted: it refuses to work until that is repaired."""

    def watches(self) -> Iterable[Watch]:
        """The status file, which dpkg replaces, and the marks, which apt does."""
        return PathWatch(self._status, is_input=True), PathWatch(self._marks, is_input=True)

    def find(self, name: str) -> PackageState:
        """The state of a package by name, or by name and architecture as in ``libc6:i386``.

        The default is the architecture of the host. For apt, the architecture "all" belongs to the host's architecture
        only.
        """
        name, architecture = self._key(name)
        return self._entries.get(name, {}).get(architecture, NOT_INSTALLED)

    def _key(self, name: str) -> tuple[str, str]:
        """The name and the architecture of the entry that a package has, or would have."""
        name, _, architecture = name.partition(":")
        if architecture in ("", "all", self._native):
            architecture = self._native if self._native in self._entries.get(name, {}) else "all"
        return name, architecture

    def unpacked(self, without: Collection[str]) -> list[str]:
        """The packages that only lack their configuration, by name and architecture, except those in ``without``."""
        left_out = {self._key(name) for name in without}
        return [
            f"{name}:{architecture}"
            for name, entries in self._entries.items()
            for architecture, state in entries.items()
            if not state.is_whole and state.is_unpacked and (name, architecture) not in left_out
        ]

    def versions(self) -> Versions:
        """All installed packages; the name includes the architecture, unless it is that of the host."""
        return {
            name if architecture in ("all", self._native) else f"{name}:{architecture}": frozenset(
                (state.version,)
            )
            for name, entries in self._entries.items()
            for architecture, state in entries.items()
            if state.version is not None
        }

    def providers(self, name: str) -> tuple[str, ...]:
        """The completely installed packages that provide ``name``."""
        provided = (
            (package, arch) for package, each in self._provides.items() for arch in each if name in each[arch]
        )
        found = {package for package, arch in provided if self._is_whole(self._entries[package][arch])}
        return tuple(sorted(found))

    @staticmethod
    def _is_whole(state: PackageState) -> bool:
        return state.version is not None and state.is_whole

    def units(self, name: str) -> list[str]:
        """The units in the file list of the package. Most packages have none, which one look at the whole list tells."""
        try:
            with open(f"{self._directory}/info/{name}.list", "rb") as listed:
                text = listed.read()
        except OSError:
            return []
        if _UNITS_BELOW not in text:
            return []
        return [os.fsdecode(line) for line in text.split(b"\n") if _UNITS_BELOW in line]

    def lasting_state(self) -> Sequence[PathState] | None:
        """The files of the database, while no program holds its lock. dpkg changes the others with its status file.

        Entries that were left in ``updates`` are more than these. The program tells which package manager the host has.
        """
        if self.was_interrupted:
            return None
        dpkg = (self._status, self._updates, f"{self._directory}/arch", f"{self._directory}/info")
        read = (*dpkg, self._marks, PROGRAM)
        unlocked = (PathState(path, "unlocked") for path in self.locks)
        return (*(PathState(path, "read") for path in read), *unlocked)

    def _files(self) -> tuple[str, ...]:
        return (self._status, self._updates, self._marks)

    async def _read(self) -> None:
        await in_thread(self._parse)

    def _parse(self) -> None:
        self._entries, self._provides = {}, {}
        updates = self._update_files()
        self._take(self._status)
        for path in updates:
            with suppress(FileNotFoundError):  # dpkg has merged it into the status file meanwhile
                self._take(path)
        self.was_interrupted = bool(updates)
        self._native = self._native_architecture()
        self._mark()

    def _mark(self) -> None:
        """Note which packages came as dependencies. apt gives those for all architectures that of the host."""
        marks = ""
        with suppress(FileNotFoundError), open(self._marks, encoding="utf-8", errors="replace") as file:
            marks = file.read()
        for name, architecture in _AUTOMATIC.findall(marks):
            entries = self._entries.get(name, {})
            key = architecture if architecture in entries else "all"
            if key in entries:
                entries[key] = replace(entries[key], is_automatic=entries[key].version is not None)

    def _take(self, path: str) -> None:
        """Add the entries of a file. Raises OSError: without them, the installed packages are unknown."""
        with open(path, encoding="utf-8", errors="replace") as file:
            for name, architecture, state, provided in _parse(file.read()):
                self._entries.setdefault(name, {})[architecture] = state
                self._provides.setdefault(name, {})[architecture] = provided

    def _update_files(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [
                f"{self._updates}/{name}" for name in sorted(os.listdir(self._updates)) if name.isdecimal()
            ]
        return []

    def _native_architecture(self) -> str:
        """The architecture of the host: the first line of the file ``arch``, or the only one of all packages.

        The file exists only if several architectures are enabled.
        """
        with suppress(OSError), open(f"{self._directory}/arch", encoding="ascii") as file:
            return file.readline().strip()
        known = (architecture for entries in self._entries.values() for architecture in entries)
        return next((architecture for architecture in known if architecture != "all"), "")


def _parse(text: str) -> Iterator[tuple[str, str, PackageState, list[str]]]:
    """Name, architecture, state and provided names of each entry, by deb822(5) and the status values of dpkg(1).

    Raises ResourceError when the file is damaged.
    """
    for entry in text.split("\n\n"):
        fields = dict(_FIELDS.findall(entry))
        if "Package" in fields:
            provided = [
                _NAME.split(each.strip())[0] for each in fields.get("Provides", "").split(",") if each
            ]
            yield fields["Package"], fields.get("Architecture", "all"), _state(fields), provided


def _state(fields: dict[str, str]) -> PackageState:
    words = fields.get("Status", "unknown ok not-installed")
    try:
        selection, flag, status = words.split()
    except ValueError:
        raise ResourceError(
            f"the database of dpkg is damaged: {fields['Package']} has the status {words!r}",
            "run dpkg --audit; former states are in /var/backups/dpkg.status.*",
        ) from None
    return PackageState(
        version=None if status in _ABSENT else fields.get("Version", ""),
        is_whole=status == "installed",
        is_unpacked=flag == "ok" and status in _UNPACKED,
        is_essential=fields["Package"] in _MANAGERS or any(fields.get(field) == "yes" for field in _VITAL),
        is_held=selection == "hold",
        has_configuration=status == "config-files",
    )
