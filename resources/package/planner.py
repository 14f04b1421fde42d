"""The decision table of a package: a pure function from the state to at most one change."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from reactor import ResourceError
from reactor.resources.download.source import is_url
from reactor.resources.package.property_checks import GONE

Compare = Callable[[str, str], int]
"""-1, 0 or 1: whether the installed version is older than the wanted one, equal, or newer."""


@dataclass(frozen=True, slots=True)
class PackageState:
    """The state of a package. ``version`` is None if it is not installed, also if its configuration files remain."""

    version: str | None = None
    is_whole: bool = True
    """Whether the package is completely unpacked and configured."""
    is_unpacked: bool = False
    """Whether a package that is not whole only lacks its configuration (dpkg)."""
    is_essential: bool = False
    """Whether the host or the package manager needs it."""
    is_held: bool = False
    """Whether the administrator holds it at its version."""
    is_automatic: bool = False
    """Whether it came as a dependency, and goes when nothing needs it any more."""
    beside: tuple[str, ...] = ()
    """The other versions that are installed at the same time, as with kernels of RPM."""
    has_configuration: bool = False
    """Whether it was removed, and its configuration remains (dpkg)."""
    provided_by: tuple[str, ...] = ()
    """The installed packages that provide a virtual package. Known only for ``ensure: present``."""
    newest: str | None = None
    """The version that the package manager would choose, or that of the file. Known only if one of them is desired."""


NOT_INSTALLED = PackageState()


class Step(StrEnum):
    """The kind of a change. The values are words for messages."""

    INSTALL = "installed"
    REINSTALL = "installed again"
    UPGRADE = "upgraded"
    DOWNGRADE = "downgraded"
    REMOVE = "uninstalled"
    PURGE = "purged"
    HOLD = "held"
    RELEASE = "released"
    KEEP = "marked as manually installed"

    @property
    def is_removal(self) -> bool:
        """Whether the package is not installed after this step."""
        return self in (Step.REMOVE, Step.PURGE)

    @property
    def is_mark(self) -> bool:
        """Whether it only changes what the package manager notes of the package, and no transaction is needed."""
        return self in (Step.HOLD, Step.RELEASE, Step.KEEP)


class Options(NamedTuple):
    """The options of a transaction. ``recommends``: whether recommended packages are installed, None as configured.

    ``autoremove``: whether packages that nothing needs any more are removed with a removal.
    """

    recommends: bool | None = None
    autoremove: bool = False


USUAL: Final = Options()


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state.

    ``ensure`` is present, absent, purged, latest or a version; ``interval`` is in seconds, for latest. ``hold``:
    whether the package manager holds it at its version; None is not managed. ``options`` are those of the transaction.
    """

    name: str
    ensure: str
    interval: float
    hold: bool | None = None
    options: Options = USUAL
    answers: str = field(default="", repr=False)
    """The answers for debconf, as lines of debconf-set-selections(1)."""
    source: str | None = field(default=None, repr=False)
    """The path or URL of the file to install; None for a repository."""
    checksum: str | None = None
    """The SHA-256 of that file in hex, if given."""

    @property
    def follows_file(self) -> bool:
        """Whether the desired version is that of a file on this host.

        A URL's version is unknown before the download.
        """
        return self.ensure == "present" and self.source is not None and not is_url(self.source)

    @property
    def is_removal(self) -> bool:
        """Whether the package must not be installed."""
        return self.ensure in GONE

    @property
    def transaction(self) -> Hashable:
        """A key that is equal for packages that one transaction can change."""
        return (self.ensure if self.is_removal else "there", self.options)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a package. ``version`` is the version to install; None leaves the choice to the package manager."""

    name: str
    step: Step
    did: str
    version: str | None = None
    options: Options = USUAL
    file: str = ""
    """The path of the file to install; empty for a repository."""


Changes = Mapping[str, Change]
"""Changes by the ref of their resource."""


Refusals = dict[str, ResourceError]
"""The errors of single changes, by the ref of their resource."""


def plan_package(desired: Desired, state: PackageState, compare: Compare) -> Change | None:
    """The change to make, or None.

    Raises ResourceError when the package is held, or essential and would be removed.
    """
    if desired.ensure == "present" and state.provided_by:
        return None
    change = _change(desired, state, compare)
    if change is not None and change.step.is_removal and state.is_essential:
        raise ResourceError(
            f"refusing to remove {desired.name}, which is essential: this host does not work without it",
            "if that is intended, do it by hand",
        )
    if change is not None and state.is_held and desired.hold is None:
        how = f"at {state.version}" if state.version else "as not installed"
        raise ResourceError(
            f"{desired.name} is held {how}, and would have to be {change.did}",
            f"release it with hold: false or apt-mark unhold {desired.name}, or write ensure: {state.version or 'absent'}",
        )
    return _with_marks(desired, state, change)


def _with_marks(desired: Desired, state: PackageState, change: Change | None) -> Change | None:
    """``change`` combined with those of the marks. If the hold is managed, a held package may be changed."""
    marks = []
    if desired.hold is not None and desired.hold is not state.is_held:
        marks.append(Step.HOLD if desired.hold else Step.RELEASE)
    if state.is_automatic and not desired.is_removal:
        marks.append(Step.KEEP)
    if change is not None:
        return replace(change, did=" and ".join((change.did, *marks)), options=desired.options)
    return Change(desired.name, marks[0], " and ".join(marks)) if marks else None


def _change(desired: Desired, state: PackageState, compare: Compare) -> Change | None:
    if desired.is_removal:
        return _removal(desired, state)
    if state.version is None or not state.is_whole:
        # apt configures what is unpacked. Told to install it again, it may fail with an internal error, which hides why.
        is_partial = state.version is not None and not state.is_unpacked
        return _install(desired, Step.REINSTALL if is_partial else Step.INSTALL)
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
    """The other installed versions that satisfy a desired version; none for "latest"."""
    return () if desired.ensure == "latest" else state.beside


def _removal(desired: Desired, state: PackageState) -> Change | None:
    step = Step.PURGE if desired.ensure == "purged" else Step.REMOVE
    is_there = state.version is not None or (step is Step.PURGE and state.has_configuration)
    return Change(desired.name, step, str(step)) if is_there else None


def _install(desired: Desired, step: Step) -> Change:
    """The installation of a missing package, or of a half-installed one, which repairs it."""
    if desired.ensure == "latest":
        return Change(desired.name, step, f"{Step.INSTALL} latest")
    version = None if desired.ensure == "present" else desired.ensure
    return Change(desired.name, step, f"{Step.INSTALL} version {desired.ensure}", version)
