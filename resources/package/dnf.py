"""The provider `dnf`: packages of Fedora, RHEL and their relatives."""

from __future__ import annotations

import glob
import math
import os
import re
import time
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from typing import Final

from reactor import ResourceError, emit_output
from reactor.resources.package import rpm_signatures, rpm_versions
from reactor.resources.package.catalog import Catalog, Offer
from reactor.resources.package.commands import PackageCommands
from reactor.resources.package.database import stamp_of, stamps_of
from reactor.resources.package.dnf_answers import (
    QUERY_FORMAT,
    left_out,
    parse_query,
    parse_transaction,
    parse_upgrades,
)
from reactor.resources.package.dnf_files import is_locked, protected_packages
from reactor.resources.package.error_lines import error_lines, error_lines_in, file_conflict
from reactor.resources.package.file_conflicts import RPM_CONFLICT
from reactor.resources.package.planner import Changes, Desired, PackageState
from reactor.resources.package.provider import Provider
from reactor.resources.package.rpm_database import FORMAT, RpmDatabase
from reactor.resources.package.transaction import Others, own_files
from reactor.resources.process import Completed, missing_rights

_AT_ONCE: Final = {"PYTHONUNBUFFERED": "1"}
"""The variable that makes dnf print its output without delay."""
_THERE_ARE_UPGRADES: Final = 100
_NO_MATCH: Final = "Unable to find a match"
_SECTION: Final = re.compile(r"^\[(.+)\]\s*$", re.MULTILINE)
_ARCHITECTURES: Final = {"noarch", "x86_64", "i686", "aarch64", "armv7hl", "ppc64le", "s390x", "riscv64"}
_ASK_AGAIN: Final = 60.0
_ABORTED: Final = "Operation aborted"
"""The message of dnf with --assumeno."""
_PROTECTED: Final = "dnf rpm glob:/etc/yum/protected.d/*.conf glob:/etc/dnf/protected.d/*.conf"
"""The packages that dnf protects by default, and rpm."""
_CUT: Final = "; for rpm a package is installed before its last script has ended: reinstall it to run that"
_OWNER: Final = re.compile(r"^owner\|(\S+)$", re.MULTILINE)


class Dnf(Provider):
    """The provider dnf. ``root`` is the root directory of the system; ``options`` are passed in every call of dnf."""

    name = "dnf"
    program = "dnf"
    simulates_for_all = False
    locks = "dnf versionlock list"
    fetch_complaints = (
        "Error downloading packages",
        "Some packages from local repository have incorrect checksum",
    )

    def __init__(
        self,
        root: str = "",
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        self.settings = (f"{root}/etc/yum.repos.d/", f"{root}/etc/dnf/", f"{root}/etc/pki/rpm-gpg/")
        self.sources = (f"{root}/etc/yum.repos.d",)
        # Excluded packages, enabled module streams, and version locks.
        self.hold_files = (f"{root}/etc/dnf/plugins/versionlock.list",)
        self._choices = tuple(f"{root}/etc/dnf/{part}" for part in ("dnf.conf", "modules.d", "plugins"))
        self._options = ("-y", *((f"--installroot={root}",) if root else ()), *options)
        self._programs = PackageCommands({**_AT_ONCE, **(environment or {})})
        self._refreshed = -math.inf
        self._own: frozenset[str] | None = None
        database = RpmDatabase(root, self._programs)
        super().__init__(database, Catalog(self._query, self._catalog_stamp))
        self._duplicates = Catalog(self._query_duplicates, lambda: stamp_of(database.file))
        self._provided = Catalog(self._query_provided, lambda: stamp_of(database.file))
        self._upgrades = Catalog(self._check_update, self._catalog_stamp)

    async def observe(self, desired: Desired) -> PackageState:
        """The state of a package, as in the base class. All upgrades are queried at once, too."""
        if desired.ensure == "latest":
            self._upgrades.want(desired.name)
        return self._with_hold(desired, await super().observe(desired))

    async def _observe(self, desired: Desired) -> PackageState:
        return self._with_hold(desired, await super()._observe(desired))

    def _with_hold(self, desired: Desired, state: PackageState) -> PackageState:
        """The state with ``is_held``, if ``hold`` is managed. If not, dnf itself obeys its locks."""
        return (
            state
            if desired.hold is None
            else replace(state, is_held=is_locked(desired.name, self.hold_files[0]))
        )

    def compare(self, installed: str, wanted: str) -> int:
        """Compare two versions by the rules of rpm. A missing part of ``wanted`` matches any."""
        return rpm_versions.compare_installed(installed, wanted)

    async def _providers_here(self, name: str) -> tuple[str, ...]:
        offer = (await self._provided.offers([name])).get(name)
        return () if offer is None else offer.providers

    async def _query_provided(self, names: Collection[str]) -> dict[str, Offer]:
        """Query the packages that provide ``names``.

        If there are none, rpm fails with a message on standard output.
        """
        root = ("--root", self.root) if self.root else ()
        offers = {}
        for name in names:
            words = ("-q", "--whatprovides", "--queryformat", "owner|%{NAME}\n", name)
            _, text = await self._programs.simulate("rpm", *root, *words)
            if providers := tuple(sorted(set(_OWNER.findall(text)))):
                offers[name] = Offer(None, (), providers)
        return offers

    async def _refresh(self) -> None:
        self._refreshed = time.monotonic()
        await self._make_cache()

    async def _fetch_from(self, file: str) -> None:
        self._refuse_namesakes(file)
        directory = os.path.dirname(file)
        await self._make_cache(f"--setopt=reposdir={directory}", "--setopt=*.skip_if_unavailable=0")

    def _refuse_namesakes(self, file: str) -> None:
        """Raise ResourceError if another file has a repository of the same name: dnf silently uses only one."""
        (ours,) = _repositories(file)
        for other in glob.glob(f"{self.sources[0]}/*.repo"):
            if os.path.basename(other) != os.path.basename(file) and ours in _repositories(other):
                raise ResourceError(
                    f"{other} has a repository [{ours}], too",
                    "remove it there, or give this one another name",
                )

    async def _make_cache(self, *options: str) -> None:
        self._catalog.forget()
        self._upgrades.forget()
        completed = await self._dnf(*options, "--refresh", "makecache")
        if completed.exit_code != 0:
            raise ResourceError(
                f"dnf makecache failed{error_lines(completed)}",
                missing_rights() or "check that the repositories can be reached",
            )
        _report_left_out(completed.stderr)

    def _has_lists(self) -> bool:
        """Always True: dnf fetches missing lists itself, or fails."""
        return True

    def _age(self) -> float:
        return time.monotonic() - self._refreshed

    async def _find(self, name: str) -> PackageState:
        """The state of a package, which is not whole if an interrupted upgrade has left both versions installed.

        Only dnf knows which packages may have several versions, such as kernels.
        """
        state = await super()._find(name)
        if state.beside and name in await self._duplicates.offers([name]):
            return replace(state, is_whole=False)
        return state

    async def _repair(self, broken: Collection[Desired]) -> None:
        """Remove duplicate versions except the newest. Errors are ignored: a transaction follows."""
        if broken:
            await self._dnf("remove", "--duplicates")
            self.database.forget()
            self._duplicates.forget()

    async def _install(self, changes: Changes) -> Completed:
        """Install packages.

        With a version, `install` upgrades or downgrades to it; else it keeps an installed package.
        """
        self._upgrades.forget()
        return await self._dnf(*await self._transaction(changes), after_a_cut=_CUT)

    async def _remove(self, changes: Changes) -> Completed:
        return await self._dnf(*await self._transaction(changes), after_a_cut=_CUT)

    async def _simulate(self, changes: Changes) -> Others:
        arguments = [option for option in self._options if option != "-y"]
        transaction = await self._transaction(changes)
        code, text = await self._programs.simulate("dnf", *arguments, "--assumeno", *transaction)
        names = [change.name for change in changes.values()]
        if code != 0 and _ABORTED not in text:
            raise ResourceError(
                f"dnf refuses a transaction for {', '.join(names)}{error_lines_in(text)}", missing_rights()
            )
        return parse_transaction(text, names, self.database.versions())

    async def _refuse_more(self, changes: Changes, others: Others) -> None:  # noqa: ARG002 - rpm knows
        """As in the base class. The test leaves out signatures, since dnf would import the keys for them."""
        transaction = await self._transaction(changes)
        test = (*self._options, "--cacheonly", "--nogpgcheck", "--setopt=tsflags=test")
        _, text = await self._programs.simulate("dnf", *test, *transaction)
        if RPM_CONFLICT.search(text):
            names = ", ".join(change.name for change in changes.values())
            raise ResourceError(
                f"dnf refuses a transaction for {names}{error_lines_in(text)}", self._advice(text)
            )

    async def _transaction(self, changes: Changes) -> tuple[str, ...]:
        """The arguments of the transaction. dnf will not remove the packages that this process needs.

        Unneeded packages stay by default, as with apt: another resource may manage them.
        """
        configured = protected_packages(f"{self.root}/etc/dnf/dnf.conf") or _PROTECTED
        guard = f"--setopt=protected_packages={' '.join([configured, *sorted(await self._own_packages())])}"
        options = next(iter(changes.values())).options
        if any(change.step.is_removal for change in changes.values()):
            keep = f"--setopt=clean_requirements_on_remove={int(options.autoremove)}"
            return (guard, keep, "remove", *(change.name for change in changes.values()))
        specifications = (
            change.file or _specification(change.name, change.version) for change in changes.values()
        )
        weak = (
            () if options.recommends is None else (f"--setopt=install_weak_deps={int(options.recommends)}",)
        )
        return (guard, *weak, "install", *specifications)

    async def _names_of(self, names: Collection[str]) -> Collection[str]:
        """As in the base class: without the architecture."""
        split = ((name, name.rpartition(".")) for name in names)
        return [stem if end in _ARCHITECTURES else name for name, (stem, _, end) in split]

    async def _read_file(self, path: str) -> str:
        return await self._programs.read("rpm", "-qp", "--queryformat", FORMAT, path)

    async def _verify_file(self, path: str) -> None:
        configuration = f"{self.root}/etc/dnf/dnf.conf"
        if rpm_signatures.are_required(configuration):
            await rpm_signatures.require_signature(path, self.root, self._programs.simulate)

    async def _answer(self, answers: Collection[str]) -> None:
        """Do nothing: rpm packages ask no questions."""

    async def _hold(self, names: Collection[str]) -> None:
        """Lock the installed versions."""
        if not names:
            return
        await self._catch_up()
        await self._lock("add", [f"{name}-{self.database.find(name).version}" for name in names])

    async def _keep(self, names: Collection[str]) -> None:
        await self._note("mark", "install", *names)
        self.database.forget()

    async def _release(self, names: Collection[str]) -> None:
        locked = [name for name in names if is_locked(name, self.hold_files[0])]
        if locked:
            await self._lock("delete", locked)

    async def _lock(self, verb: str, specifications: Collection[str]) -> None:
        self._upgrades.forget()
        hint = "dnf needs a plugin for this: python3-dnf-plugin-versionlock"
        await self._note("versionlock", verb, *specifications, hint=hint)

    async def _note(self, command: str, verb: str, *words: str, hint: str | None = None) -> None:
        """Have dnf note something of packages. Raises ResourceError."""
        completed = await self._dnf(command, verb, *words)
        if completed.exit_code != 0:
            raise ResourceError(
                f"dnf {command} {verb} failed{error_lines(completed)}", missing_rights() or hint
            )

    async def _own_packages(self) -> frozenset[str]:
        """The packages that own the files of this process."""
        if self._own is None:
            root = ("--root", self.root) if self.root else ()
            words = ("-qf", "--queryformat", "owner|%{NAME}\n", *own_files())
            _, text = await self._programs.simulate("rpm", *root, *words)
            self._own = frozenset(_OWNER.findall(text))
        return self._own

    async def _let_through(self, name: str, installed: str, newest: str) -> str:  # noqa: ARG002 - dnf knows them
        """The newest version in `check-update`, which obeys the plugin `versionlock`, unlike `repoquery`."""
        upgrade = (await self._upgrades.offers([name])).get(name)
        return installed if upgrade is None else upgrade.newest or installed

    def _advice(self, words: str) -> str | None:
        """A hint for a package that is kept back, or a file that belongs to another package."""
        if (found := RPM_CONFLICT.search(words)) is not None:
            return file_conflict(found["file"], found["owner"]) if found["owner"] else None
        return f"dnf keeps it back: see {self.locks}" if _NO_MATCH in words else None

    async def _query(self, names: Collection[str]) -> dict[str, Offer]:
        question = (*self._options, "repoquery", "--available", "--queryformat", QUERY_FORMAT)
        answer = await self._programs.read("dnf", *question, *names)
        _report_left_out(answer)
        offers = parse_query(answer)
        for name in (name for name in names if name not in offers):
            answer = await self._programs.read("dnf", *question, "--whatprovides", name)
            if providers := tuple(each for each in parse_query(answer) if "." not in each):
                offers[name] = Offer(None, (), providers)
        return offers

    async def _query_duplicates(self, names: Collection[str]) -> dict[str, Offer]:
        question = (*self._options, "-q", "--disablerepo=*", "repoquery", "--duplicates", "--queryformat")
        return parse_query(await self._programs.read("dnf", *question, QUERY_FORMAT, *names))

    async def _check_update(self, names: Collection[str]) -> dict[str, Offer]:
        answer = await self._programs.read(
            "dnf", *self._options, "check-update", *names, also_well=_THERE_ARE_UPGRADES
        )
        return parse_upgrades(answer)

    async def _dnf(self, *arguments: str, after_a_cut: str = "") -> Completed:
        return await self._programs.run("dnf", *self._options, *arguments, after_a_cut=after_a_cut)

    def _catalog_stamp(self) -> Hashable:
        """The stamp of the offers. It also changes every minute, because the metadata files are internal to dnf."""
        return (stamps_of((*self.sources, *self._choices)), time.time() // _ASK_AGAIN)


def _repositories(file: str) -> list[str]:
    """The names of the repositories that ``file`` describes."""
    with open(file, encoding="utf-8", errors="replace") as lines:
        return _SECTION.findall(lines.read())


def _report_left_out(text: str) -> None:
    if (names := left_out(text)) is not None:
        emit_output(f"dnf can't use these repositories, and leaves them out: {names}")


def _specification(name: str, version: str | None) -> str:
    """A package as an argument of dnf, in which the architecture comes last."""
    if version is None:
        return name
    stem, _, architecture = name.rpartition(".")
    if architecture in _ARCHITECTURES:
        return f"{stem}-{version}.{architecture}"
    return f"{name}-{version}"


def is_here() -> bool:
    """Whether this host has dnf."""
    return os.access("/usr/bin/dnf", os.X_OK)
