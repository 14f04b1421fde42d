"""The kind `package`: its properties, and the rules for their combinations."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr

from reactor import (
    Action,
    Claim,
    Duration,
    Flag,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    TimerWatch,
    Watch,
)
from reactor.resources.download.source import Checksum, is_url
from reactor.resources.package.database import UNITS
from reactor.resources.package.debconf import Answers, selections
from reactor.resources.package.package_files import SUFFIXES, PackageSource, suffix_of
from reactor.resources.package.planner import Desired, Options, PackageState, plan_package
from reactor.resources.package.property_checks import (
    ALLOWED,
    GONE,
    NO_PURGE,
    NO_PURGE_HINT,
    WORDS,
    ensure_problem,
    name_problem,
    without_native_architecture,
)
from reactor.resources.package.provider import Provider
from reactor.resources.package.providers import PROVIDERS, is_here, provider_of

_KEPT = "package that stays"
"""The space of claims on packages that must not go when another one comes."""
_NEVER_PACKAGED = ("/etc/reactor/", "/home/", "/media/", "/mnt/", "/proc/", "/root/", "/srv/", "/sys/")
"""Directories in which the Filesystem Hierarchy Standard leaves everything to the host, and that of our manifests."""


class Package(Resource[PackageState], kind="package", providers=PROVIDERS):
    """Manage one package of the host's package manager: whether it is installed, and its version."""

    example = "nginx"
    provides_more = True
    may_overwrite = frozenset(("file", "line", "block", "setting", "scaffold"))

    ensure: str
    """``present``, ``absent``, ``purged``, ``latest`` or a version."""
    interval: Annotated[Duration, Field(gt=0)] = 3600.0
    """The interval at which `latest` looks for a newer version. Package lists that are older are fetched first."""
    install_recommends: Flag | None = None
    """Whether recommended packages are installed, too; unset, the configuration of the package manager decides."""
    hold: Flag | None = None
    """Whether the package manager holds the package at its version; unset, the hold is not managed."""
    autoremove: Flag = False
    """With ``absent`` and ``purged``: whether packages that nothing needs any more are removed, too."""
    answers: Answers = Field(default={}, repr=False)
    """Answers to the questions of debconf during the installation: `postfix/mailname: example.org`."""
    source: PackageSource | None = None
    """The file to install: a path or an http(s) URL of a .deb or .rpm; by default from a repository."""
    checksum: Checksum | None = None
    """The SHA-256 of the file in hex."""
    _others: str = PrivateAttr(default="")
    """The other changes of the last transaction, for messages."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Invalid names and versions, and combinations that are not allowed."""
        yield from super().property_problems()
        if fault := name_problem(self.name):
            yield PropertyProblem(("name",), fault, ALLOWED)
        if fault := ensure_problem(self.ensure):
            yield PropertyProblem(
                ("ensure",), fault, f"write {', '.join(WORDS)} or a version such as 1.24.0-1"
            )
        if self.ensure == "purged" and self.provider == "dnf":
            yield PropertyProblem(("ensure",), NO_PURGE, NO_PURGE_HINT)
        if self.answers and (self._desired.is_removal or self.provider == "dnf"):
            hint = "remove them: only apt asks questions, during an installation"
            yield PropertyProblem(("answers",), "answers are only valid for an installation with apt", hint)
        if self.autoremove and not self._desired.is_removal:
            hint = "write ensure: absent or purged, or remove autoremove"
            yield PropertyProblem(("autoremove",), "autoremove is only valid for a removal", hint)
        if self.hold and (self._desired.is_removal or self.ensure == "latest"):
            hint = "write ensure: present or a version, or remove hold"
            yield PropertyProblem(("hold",), f"a held package can't be {self.ensure}", hint)
        yield from self._source_problems()

    def _source_problems(self) -> Iterable[PropertyProblem]:
        if self.source is None:
            if self.checksum is not None:
                hint = "add source, or remove checksum"
                yield PropertyProblem(("checksum",), "checksum is only valid with a source", hint)
            return
        if self.ensure in ("latest", *GONE):
            hint = "write ensure: present or a version, or remove source"
            yield PropertyProblem(("source",), f"a package from a file can't be {self.ensure}", hint)
        suffix = suffix_of(self.source)
        if self.provider in SUFFIXES and suffix != SUFFIXES[self.provider]:
            other = next(name for name, each in SUFFIXES.items() if each == suffix)
            words = f"{self.provider} can't install a {suffix} file: that is for {other}"
            yield PropertyProblem(("source",), words, f"name a file that ends in {SUFFIXES[self.provider]}")

    def warnings(self) -> Iterable[PropertyProblem]:
        """A download that an attacker on the network could replace: packages run code as root."""
        if self.source is not None and self.source.startswith("http://") and self.checksum is None:
            words = "without https or a checksum, an attacker on the network decides what is installed"
            yield PropertyProblem(("source",), words, "write the checksum, or https")

    def watches(self) -> Iterable[Watch]:
        """The database of installed packages; a timer for `latest`; the hold files and the source file."""
        yield from self._provider.database.watches()
        if self.ensure == "latest":
            yield TimerWatch(self.interval)
        if self.hold is not None:
            yield from (PathWatch(path) for path in self._provider.hold_files)
        if self._local_source is not None:
            yield PathWatch(self._local_source, is_input=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The units that it installs, as far as the package manager lists them, and the unit with its own name,
        as usual.

        Depends on: The configuration of the package manager, above all its repositories; and the file to install.
        """
        units = self._units
        if self._desired.is_removal:
            return Relations(clears=units)
        needed = (*self._provider.settings, *self.source_files())
        return Relations(provides=units, depends_on=needed, chooses=(_KEPT,))

    def might_provide(self, missing: str) -> bool:
        """Whether ``missing`` may come with it: no path where packages put nothing."""
        return not (self._desired.is_removal or f"{missing}/".startswith(_NEVER_PACKAGED))

    @cached_property
    def _units(self) -> tuple[str, ...]:
        return f"{UNITS}/{self.name}.service", *self._provider.database.units(self.name)

    def claims(self) -> Iterable[Claim]:
        """The package, with or without the architecture of the host in its name.

        For dpkg, all installed architectures of a package have the same version. A repeated name, which the ``ccm:``
        form allows, is no contradiction: the last resource decides.
        """
        if self.ref != f"{self.kind}#{self.name}":
            return
        name = without_native_architecture(self.name, self._provider.name)
        yield Claim("package", name, {"ensure": "absent" if self._desired.is_removal else "present"})
        if not self._desired.is_removal:
            yield Claim(_KEPT, name, {})
        if self.ensure not in WORDS:
            stem = name.partition(":")[0] if self._provider.name == "apt" else name
            yield Claim("version of the package", stem, {"ensure": self.ensure})

    def source_files(self) -> Collection[str]:
        """The file to install, if there is one."""
        return () if self._local_source is None else (self._local_source,)

    def lasting_state(self) -> Sequence[PathState] | None:
        """The database of installed packages, if it alone decides, and that no package manager is running."""
        return self._provider.lasting_state(self._desired)

    async def observe(self) -> PackageState:
        """The state of the package, after a running package manager has ended."""
        if self.ensure == "purged" and self._provider.name == "dnf":
            raise ResourceError(NO_PURGE, NO_PURGE_HINT)
        return await self._provider.observe(self._desired)

    async def describe(self) -> Mapping[str, Any]:
        """The installed version, also as a value of ``ensure``; further properties only for an installed package."""
        state = await self.observe()
        if state.version is None:
            return {"ensure": "absent", "version": None}
        found = {"ensure": state.version, "version": state.version}
        return {**found, "held": state.is_held, "whole": state.is_whole}

    @classmethod
    def unavailable_reason(cls, provider: str) -> str | None:
        """The reason if the package manager is missing; None if it is there."""
        return None if is_here(provider) else f"this host has no {provider}"

    def plan(self, state: PackageState, *, refresh: bool) -> Plan:  # noqa: ARG002 - a refresh means nothing to a package
        """One change, or none. Raises ResourceError when the package is held."""
        change = plan_package(self._desired, state, self._provider.compare)
        if change is None:
            return ()
        would = f"Would have {change.did}"
        return (
            Action(
                would,
                change.did,
                self._apply,
                predict=None if change.step.is_mark else self._predict,
                happened=lambda: self._others,
                reads_back=True,
            ),
        )

    async def preflight(self, state: PackageState) -> None:  # noqa: ARG002 - the provider knows the state, too
        """Check that a repository has the package that would be installed."""
        await self._provider.preflight(self._desired)

    def group_key(self) -> Hashable:
        """Installations share one transaction, and removals another."""
        return (id(self._provider), self._desired.transaction)

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        """Make all changes in as few transactions as possible."""
        all_desired = {member.ref: member._desired for member in members}  # noqa: SLF001
        applied = await members[0]._provider.apply(all_desired, members[0].declared.reserved)  # noqa: SLF001
        for member in members:
            member._others = applied.others.get(member.ref, "")  # noqa: SLF001
        return applied.refusals

    async def reversal(self, state: PackageState) -> Self:
        """The package in the version that was found, or absent."""
        return type(self)(name=self.name, provider=self.provider, ensure=state.version or "absent")

    @cached_property
    def _desired(self) -> Desired:
        options = Options(self.install_recommends, self.autoremove)
        answers = selections(self.name, self.answers)
        return Desired(
            self.name, self.ensure, self.interval, self.hold, options, answers, self.source, self.checksum
        )

    @property
    def _local_source(self) -> str | None:
        return None if self.source is None or is_url(self.source) else self.source

    @property
    def _provider(self) -> Provider:
        return provider_of(self.provider)

    async def _predict(self) -> str:
        return await self._provider.predict(self._desired, self.declared.reserved)

    async def _apply(self) -> None:
        for refusal in (await self.apply_group([self])).values():
            raise refusal
