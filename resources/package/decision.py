"""The decision table of a package: from what is wanted and what is there to the one change between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from reactor import ResourceError
from resources.package.state import PackageState

Compare = Callable[[str, str], int]
"""-1, 0 or 1: whether the version installed is older than the one wanted, the same, or newer."""


class Step(StrEnum):
    """What is done to a package."""

    INSTALL = "installed"
    REINSTALL = "installed again"
    UPGRADE = "upgraded"
    DOWNGRADE = "downgraded"
    REMOVE = "uninstalled"


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted: ``ensure`` is present, absent, latest or a version. ``interval``: seconds "latest" may be old."""

    name: str
    ensure: str
    interval: float


@dataclass(frozen=True, slots=True)
class Change:
    """``version`` is the one to install; None leaves the choice to the package manager."""

    name: str
    step: Step
    did: str
    version: str | None = None


Changes = Mapping[str, Change]
"""Changes by the ref of the resource that wants them."""
Refusals = dict[str, ResourceError]
"""Why single changes can't be made, by the same refs."""


def decide(wish: Wish, state: PackageState, compare: Compare) -> Change | None:
    """The change to make, or None. Raises ResourceError when the package is held as it is."""
    change = _change(wish, state, compare)
    if change is not None and change.step is Step.REMOVE and state.is_essential:
        raise ResourceError(
            f"refusing to remove {wish.name}, which is essential: this host does not work without it",
            "if that is meant, do it by hand",
        )
    if change is not None and state.is_held:
        how = f"at {state.version}" if state.version else "as not installed"
        raise ResourceError(
            f"{wish.name} is held {how}, and would have to be {change.did}",
            f"release it with apt-mark unhold {wish.name}, or write ensure: {state.version or 'absent'}",
        )
    return change


def _change(wish: Wish, state: PackageState, compare: Compare) -> Change | None:
    if wish.ensure == "absent":
        return None if state.version is None else Change(wish.name, Step.REMOVE, str(Step.REMOVE))
    if state.version is None or not state.is_whole:
        return _install(wish, Step.INSTALL if state.version is None else Step.REINSTALL)
    if wish.ensure == "present" or any(compare(version, wish.ensure) == 0 for version in state.beside):
        return None
    wanted = state.newest if wish.ensure == "latest" else wish.ensure
    order = 0 if wanted is None else compare(state.version, wanted)
    if order < 0:
        return Change(wish.name, Step.UPGRADE, f"{Step.UPGRADE} to {wish.ensure}", wanted)
    if order > 0 and wish.ensure != "latest":
        return Change(wish.name, Step.DOWNGRADE, f"{Step.DOWNGRADE} to {wish.ensure}", wanted)
    return None


def _install(wish: Wish, step: Step) -> Change:
    """What is there in part counts as absent: installing it again mends it."""
    if wish.ensure == "latest":
        return Change(wish.name, step, f"{Step.INSTALL} latest")
    version = None if wish.ensure == "present" else wish.ensure
    return Change(wish.name, step, f"{Step.INSTALL} version {wish.ensure}", version)
