"""The decision table of a package: from what is wanted and what is there to the one change between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from reactor import ResourceError
from reactor.resources.download.source import is_url
from reactor.resources.package.properties import GONE

Compare = Callable[[str, str], int]
"""-1, 0 or 1: whether the version installed is older than the one wanted, the same, or newer."""


@dataclass(frozen=True, slots=True)
class PackageState:
    """``version`` is what is there, None for nothing. Files that only remain as configuration are nothing."""

    version: str | None = None
    is_whole: bool = True
    """Whether what is there was unpacked and configured to the end."""
    is_essential: bool = False
    """Whether the host, or the package manager, does not work without it."""
    is_held: bool = False
    """Whether the administrator has forbidden to change it."""
    beside: tuple[str, ...] = ()
    """Other versions that are there at the same time, as with kernels of RPM."""
    has_configuration: bool = False
    """Whether it was removed, and its configuration left (dpkg)."""
    provided_by: tuple[str, ...] = ()
    """The installed packages that provide what is only virtual; known only where it is to be present."""
    newest: str | None = None
    """The version that the package manager would choose, or a file holds; known only where one of them is wanted."""


NOT_INSTALLED = PackageState()


class Step(StrEnum):
    """What is done to a package."""

    INSTALL = "installed"
    REINSTALL = "installed again"
    UPGRADE = "upgraded"
    DOWNGRADE = "downgraded"
    REMOVE = "uninstalled"
    PURGE = "purged"
    HOLD = "held"
    RELEASE = "released"

    @property
    def is_removal(self) -> bool:
        """Whether the package is not there afterwards."""
        return self in (Step.REMOVE, Step.PURGE)


class Options(NamedTuple):
    """How a transaction is made. ``recommends``: whether what is recommended comes along, None as configured.

    ``autoremove``: whether what nothing needs any more goes along with what is removed.
    """

    recommends: bool | None = None
    autoremove: bool = False


USUAL: Final = Options()


@dataclass(frozen=True, slots=True)
class Desired:
    """What is wanted: ``ensure`` is present, absent, purged, latest or a version. ``interval``: seconds "latest" may be old.

    ``hold``: whether the package manager keeps it as it is, None leaves that alone. ``options`` hold for the transaction.
    """

    name: str
    ensure: str
    interval: float
    hold: bool | None = None
    options: Options = USUAL
    answers: str = field(default="", repr=False)
    """What debconf is told before the package is installed, as lines of debconf-set-selections(1)."""
    source: str | None = field(default=None, repr=False)
    """The path or URL of the file that it is installed from; None where that is a repository."""
    checksum: str | None = None
    """The SHA-256 of that file in hex, where it is known."""

    @property
    def is_what_a_file_holds(self) -> bool:
        """Whether the version is to be that of a file on this host. That of a URL is not known until it is fetched."""
        return self.ensure == "present" and self.source is not None and not is_url(self.source)

    @property
    def is_to_go(self) -> bool:
        """Whether the package is not to be there."""
        return self.ensure in GONE

    @property
    def transaction(self) -> Hashable:
        """Equal for wishes that one transaction can make true."""
        return (self.ensure if self.is_to_go else "there", self.options)


@dataclass(frozen=True, slots=True)
class Change:
    """``version`` is the one to install; None leaves the choice to the package manager."""

    name: str
    step: Step
    did: str
    version: str | None = None
    options: Options = USUAL
    file: str = ""
    """The path of the file to install; empty where the package comes from a repository."""


Changes = Mapping[str, Change]
"""Changes by the ref of the resource that wants them."""


Refusals = dict[str, ResourceError]
"""Why single changes can't be made, by the same refs."""


def plan_package(desired: Desired, state: PackageState, compare: Compare) -> Change | None:
    """The change to make, or None. Raises ResourceError when the package is held as it is."""
    if desired.ensure == "present" and state.provided_by:
        return None
    change = _change(desired, state, compare)
    if change is not None and change.step.is_removal and state.is_essential:
        raise ResourceError(
            f"refusing to remove {desired.name}, which is essential: this host does not work without it",
            "if that is intended, do it by hand",
        )
    if desired.hold is not None:
        return _with_hold(desired, state, change)
    if change is not None and state.is_held:
        how = f"at {state.version}" if state.version else "as not installed"
        raise ResourceError(
            f"{desired.name} is held {how}, and would have to be {change.did}",
            f"release it with hold: false or apt-mark unhold {desired.name}, or write ensure: {state.version or 'absent'}",
        )
    return None if change is None else replace(change, options=desired.options)


def _with_hold(desired: Desired, state: PackageState, change: Change | None) -> Change | None:
    """``change`` together with that of the hold: who manages the hold wants a held package changed, too."""
    step = Step.HOLD if desired.hold else Step.RELEASE
    if change is not None:
        words = f"{change.did} and {step}" if bool(desired.hold) is not state.is_held else change.did
        return replace(change, did=words, options=desired.options)
    return None if bool(desired.hold) is state.is_held else Change(desired.name, step, str(step))


def _change(desired: Desired, state: PackageState, compare: Compare) -> Change | None:
    if desired.is_to_go:
        return _removal(desired, state)
    if state.version is None or not state.is_whole:
        return _install(desired, Step.INSTALL if state.version is None else Step.REINSTALL)
    wanted = state.newest if desired.ensure in ("latest", "present") else desired.ensure
    if wanted is None or any(compare(version, wanted) == 0 for version in _others_there(desired, state)):
        return None
    goal = wanted if desired.ensure == "present" else desired.ensure
    order = compare(state.version, wanted)
    if order < 0:
        return Change(desired.name, Step.UPGRADE, f"{Step.UPGRADE} to {goal}", wanted)
    if order > 0 and desired.ensure != "latest":
        return Change(desired.name, Step.DOWNGRADE, f"{Step.DOWNGRADE} to {goal}", wanted)
    return None


def _others_there(desired: Desired, state: PackageState) -> tuple[str, ...]:
    """The versions beside the newest that are as good: one is asked for by its number."""
    return () if desired.ensure == "latest" else state.beside


def _removal(desired: Desired, state: PackageState) -> Change | None:
    step = Step.PURGE if desired.ensure == "purged" else Step.REMOVE
    is_there = state.version is not None or (step is Step.PURGE and state.has_configuration)
    return Change(desired.name, step, str(step)) if is_there else None


def _install(desired: Desired, step: Step) -> Change:
    """What is there in part counts as absent: installing it again mends it."""
    if desired.ensure == "latest":
        return Change(desired.name, step, f"{Step.INSTALL} latest")
    version = None if desired.ensure == "present" else desired.ensure
    return Change(desired.name, step, f"{Step.INSTALL} version {desired.ensure}", version)
