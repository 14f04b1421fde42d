"""Reads the state of packages: installed versions and newest available ones. Changes nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import trio

from reactor import PathState, ResourceError, emit_output
from reactor.resources.package.catalog import Catalog
from reactor.resources.package.database import Database, Stamp, stamp_of
from reactor.resources.package.locks import released
from reactor.resources.package.package_files import PackageFiles
from reactor.resources.package.planner import Desired, PackageState


class PackageObserver(ABC):
    """The reading half of a provider: the database of installed packages, and the catalog of available ones."""

    name: str
    root: str
    """The root directory of the system; empty for that of the host."""
    program: str
    fetch_complaints: tuple[str, ...]
    """The error messages of the program for a package in its lists that it can't fetch."""
    simulates_for_all: bool
    """Whether the program also simulates a transaction for users other than root."""
    locks: str
    """The command that lists the packages that the administrator has held back."""
    settings: tuple[str, ...]
    """The directories of its configuration, each ending in ``/``."""
    hold_files: tuple[str, ...] = ()
    """The files outside the database that list held packages."""
    sources: tuple[str, ...]
    """The files and directories that describe the repositories."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self.database = database
        self._catalog = catalog
        self._one_at_a_time = trio.Lock()
        self._reading: trio.Event | None = None
        """Set at the end of the reading that is under way."""
        self._emitted: set[str] = set()
        self._not_refreshed = ""
        """Why the last attempt to fetch the lists failed."""
        self._held_by: dict[tuple[str, str], tuple[Stamp | None, str]] = {}
        """The versions in package files, by path and package, with the stamps of the files."""

    def lasting_state(self, desired: Desired) -> Sequence[PathState] | None:
        """The states of paths that alone decide whether the package is as desired; None if more does.

        The lists of repositories get older, and a file to install may say another version.
        """
        if desired.ensure == "latest" or desired.follows_file:
            return None
        is_enough = not self._needs_more(desired, self.database.find(desired.name))
        return self.database.lasting_state() if is_enough else None

    async def observe(self, desired: Desired) -> PackageState:
        """The state of a package. Starts no process unless something has changed, or the newest version is wanted.

        If a package manager is running, this waits for its end: an intermediate state is useless.
        """
        if desired.ensure == "latest":
            self._catalog.want(desired.name)
        else:
            await self._catch_up_together()
            if (state := self._known_state(desired)) is not None:
                return state
        async with self._one_at_a_time:
            return await self._observe(desired)

    async def _catch_up_together(self) -> None:
        """Read the database if it has changed. Of many checks at once, one reads, and all others go on at its end."""
        if self.database.is_current():
            return
        if self._reading is not None:
            await self._reading.wait()
            return
        self._reading = trio.Event()
        try:
            async with self._one_at_a_time:
                await self._catch_up()
        finally:
            self._reading.set()
            self._reading = None
        # The others come as far as this check: a dry run asks for all that they want at once.
        await trio.lowlevel.checkpoint()

    def _known_state(self, desired: Desired) -> PackageState | None:
        """The state of a package, if the database and what is known of its file are current and say all; else None."""
        if not self.database.is_current():
            return None
        state = self.database.find(desired.name)
        if self._needs_more(desired, state):
            return None
        if not desired.follows_file or state.version is None:
            return state
        known = self._known_in_file(desired)
        return None if known is None else replace(state, newest=known[1])

    @abstractmethod
    def compare(self, installed: str, wanted: str) -> int:
        """-1, 0 or 1: whether the installed version is older than the wanted one, equal, or newer."""

    @abstractmethod
    async def _providers_here(self, name: str) -> tuple[str, ...]:
        """The installed packages that provide ``name``."""

    @abstractmethod
    async def _refresh(self) -> None:
        """Fetch the package lists of all repositories. Raises ResourceError."""

    @abstractmethod
    def _has_lists(self) -> bool:
        """Whether there are package lists, so that a package in no list is in no repository."""

    @abstractmethod
    def _age(self) -> float:
        """The seconds since the lists of all repositories were fetched."""

    @abstractmethod
    async def _let_through(self, name: str, installed: str, newest: str) -> str:
        """The newest version up to ``newest`` that the administrator does not keep back."""

    @abstractmethod
    async def _read_file(self, path: str) -> str:
        """The name, architecture and version of the package in a file, separated by tabs. Raises ResourceError."""

    @abstractmethod
    async def _verify_file(self, path: str) -> None:
        """Raise ResourceError if the host requires signatures of files, and that of ``path`` is not verified."""

    async def _find(self, name: str) -> PackageState:
        """The state of a package as of the last `load`."""
        return self.database.find(name)

    async def _observe(self, desired: Desired) -> PackageState:
        await self._catch_up()
        state = await self._find(desired.name)
        if _may_be_virtual(desired, state):
            return replace(state, provided_by=await self._installed_providers(desired.name))
        if desired.follows_file and state.version is not None:
            return replace(state, newest=await self._version_in_file(desired))
        if desired.ensure != "latest":
            return state
        if self._age() > desired.interval:
            await self._try_to_refresh()
        return replace(state, newest=await self._newest(desired.name, state.version))

    def _known_in_file(self, desired: Desired) -> tuple[Stamp | None, str | None] | None:
        """The stamp and version of the file of ``desired``; (None, None) if it is missing; None if it must be read."""
        path = desired.source or ""
        if (now := stamp_of(path)) is None:
            return now, None
        known = self._held_by.get((path, desired.name))
        return known if known is not None and known[0] == now else None

    async def _version_in_file(self, desired: Desired) -> str | None:
        """The desired version; None keeps the installed one. Raises ResourceError for a file that can't be used."""
        path = desired.source or ""
        if (known := self._known_in_file(desired)) is not None:
            return known[1]
        stamp = stamp_of(path)
        with self._files() as files:
            version = await files.version_of(desired)
        self._held_by[path, desired.name] = (stamp, version)
        return version

    @staticmethod
    def _needs_more(desired: Desired, state: PackageState) -> bool:
        """Whether it takes more than the database to decide whether the state is as desired."""
        return bool(state.beside) or _may_be_virtual(desired, state)

    async def _installed_providers(self, name: str) -> tuple[str, ...]:
        """The installed packages that provide ``name``, if no repository has a package with this name."""
        providers = await self._providers_here(name)
        offer = (await self._catalog.offers([name])).get(name) if providers else None
        return () if offer is not None and offer.versions else providers

    async def _newest(self, name: str, installed: str | None) -> str | None:
        """The version that the package manager would choose, if it knows the package."""
        offer = (await self._catalog.offers([name])).get(name)
        newest = None if offer is None else offer.newest
        if newest is None or installed is None or self.compare(installed, newest) >= 0:
            return newest
        let_through = await self._let_through(name, installed, newest)
        if let_through == installed:
            self._emit_once(
                f"{name} stays at {installed}: {self.name} keeps back {newest} (see {self.locks})"
            )
        return let_through

    def _files(self) -> PackageFiles:
        return PackageFiles(self.name, self._read_file, self._verify_file, self.compare)

    async def _catch_up(self) -> None:
        if not self.database.is_current():
            await released(*self.database.locks)
            await self.database.load()

    async def _try_to_refresh(self) -> None:
        """Fetch the lists, or continue with the old ones if the repositories can't be reached."""
        self._not_refreshed = ""
        try:
            await self._refresh()
        except ResourceError as error:
            self._not_refreshed = error.message
            emit_lines(f"the package lists could not be refreshed: {error.message}")

    def _emit_once(self, line: str) -> None:
        """Report ``line`` once, although a check may observe a package several times."""
        if line not in self._emitted:
            self._emitted.add(line)
            emit_output(line)


def _may_be_virtual(desired: Desired, state: PackageState) -> bool:
    """Whether another package may provide the desired one, which is not installed and not from a file."""
    return desired.ensure == "present" and state.version is None and desired.source is None


def emit_lines(text: str) -> None:
    """Emit each line of ``text``."""
    for line in text.splitlines():
        emit_output(line)
