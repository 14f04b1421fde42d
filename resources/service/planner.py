"""The decision table of a service: a pure function from the state to the steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from reactor import ResourceError
from reactor.resources.enumeration import listed
from reactor.resources.service import unit_errors
from reactor.resources.service.state import NOT_FOUND, UnitState
from reactor.resources.service.systemd import FileChange, Job

Step = Job | FileChange | Literal["daemon-reload"]
"""One request to systemd."""

DAEMON_RELOAD: Final = "daemon-reload"

DONE: Final = {
    Job.START: "started",
    Job.STOP: "stopped",
    Job.RESTART: "restarted via subscribe",
    Job.RELOAD: "reloaded via subscribe",
    Job.RELOAD_OR_RESTART: "reloaded or restarted via subscribe",
    FileChange.ENABLE: "enabled",
    FileChange.DISABLE: "disabled",
    FileChange.MASK: "masked",
    FileChange.UNMASK: "unmasked",
    DAEMON_RELOAD: "had systemd read the changed unit files",
}
"""The messages about completed steps."""

_FIXED: Final = {"static", "indirect", "generated", "transient"}
"""File states that `disable` does not change, because the unit files do not define how to enable them."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state of a unit; None means not managed.

    With ``preset``, the presets decide whether it is enabled.
    """

    unit: str
    ensure: str
    enable: bool | None
    masked: bool | None
    on_refresh: Job
    preset: bool = False
    by_table: bool = False
    """Whether a unit that CCM counts as enabled is left as it is, for the ``ccm:`` form."""

    @property
    def wants_files(self) -> bool:
        """Whether it matters if the unit is enabled or masked."""
        return self.enable is not None or self.masked is not None or self.preset

    def with_preset(self, state: UnitState) -> Desired:
        """The desired state with ``enable`` from the presets; None if they do not apply to the unit."""
        if not self.preset:
            return self
        is_left = state.preset is False and (state.files in _FIXED or state.files == "alias")
        return replace(self, enable=None if is_left or not state.is_switchable else state.preset)


def done(desired: Desired, step: Step, state: UnitState) -> str:
    """The message about a completed step from ``state``."""
    if step is Job.START and state.related:
        return f"{DONE[step]}, which stops {listed(state.related)} (they conflict)"
    if desired.preset and step in (FileChange.ENABLE, FileChange.DISABLE):
        return f"{DONE[step]}, as the presets say"
    if state.also and step in (FileChange.ENABLE, FileChange.DISABLE):
        enabled = [name for name, files in state.also if files.startswith("enabled")]
        changed = state.also_disabled if step is FileChange.ENABLE else enabled
        return f"{DONE[step]} what it names: {listed(changed)}"
    return DONE[step]


def counts_as_enabled(desired: Desired, state: UnitState) -> bool:
    """Whether ``enable: true`` changes nothing."""
    return state.at_boot if desired.by_table else state.for_good


def plan_service(desired: Desired, state: UnitState, *, refresh: bool) -> list[Step]:
    """The steps, in order. Raises ResourceError when the desired state can't be reached."""
    if desired.masked:
        _refuse_mask(desired, state)
    if desired.masked and not state.is_there:  # mask it, so that nothing starts it once it is installed
        return [FileChange.MASK]
    desired = desired.with_preset(state)
    _refuse(desired, state)
    if desired.enable is not None:
        _refuse_switching(desired, state)
    return [
        *_before(desired, state),
        *_running(desired, state, refresh=refresh),
        *_after(desired, state),
    ]


def _refuse_mask(desired: Desired, state: UnitState) -> None:
    """Raise ResourceError for a mask that systemd would refuse, before the unit is stopped for it."""
    if state.in_place_of_mask:
        raise ResourceError(
            f"{desired.unit} can't be masked: {state.in_place_of_mask} is there",
            unit_errors.IN_PLACE_OF_LINK,
        )


def _refuse(desired: Desired, state: UnitState) -> None:
    """Raise ResourceError for a unit that does not exist, or does not stay up."""
    unit = desired.unit
    if not state.is_there or (desired.wants_files and state.files == NOT_FOUND and not desired.masked):
        raise ResourceError(
            f"service {unit} not found",
            "require the resource that installs it or its unit file, or correct the name",
            missing=f"service#{unit}",
        )
    if desired.ensure == "running" and state.active == "activating":
        raise ResourceError(
            f"{unit} does not stay up, and systemd is starting it again", f"see why: journalctl --unit {unit}"
        )


def _refuse_switching(desired: Desired, state: UnitState) -> None:
    """Raise ResourceError for a unit that can't be enabled or disabled permanently."""
    unit = desired.unit
    if not state.is_switchable:
        raise ResourceError(
            f"{unit} can't be enabled or disabled: systemd calls its unit file {state.files!r}",
            "correct the unit file: systemd-analyze verify",
        )
    if desired.enable is False and state.files == "alias":
        raise ResourceError(
            f"{unit} is an alias of {state.unit}, which can't be disabled: its link would go",
            f"write service#{state.unit.removesuffix('.service')} instead",
        )
    if desired.enable is False and state.files in _FIXED and (desired.by_table or not state.also):
        raise ResourceError(
            f"{unit} is {state.files}, which can't be disabled", _instead_of_disabling(unit, state)
        )
    if desired.enable and not desired.by_table and not state.can_be_enabled:
        gone = next((name for name, files in state.also if files == NOT_FOUND), None)
        raise ResourceError(
            f"{unit} can't be enabled: its [Install] only names {state.also_in_words}",
            "have these units installed and unmasked, or correct Also= in the unit file",
            missing=None if gone is None else f"service#{gone}",
        )
    if desired.enable and state.is_masked and desired.masked is not False:
        raise ResourceError(f"{unit} is masked, and can't be enabled", "write masked: false to unmask it")


def _instead_of_disabling(unit: str, state: UnitState) -> str:
    """What to do about a unit that only others start."""
    if state.in_place_of_mask:
        others = f"this lists them: systemctl list-dependencies --reverse {unit}"
        return (
            f"leave `enable` out: only other units start it, and {others}; or remove {state.in_place_of_mask}"
        )
    return "leave `enable` out; or write masked: true and ensure: stopped in its place"


def _refuse_refresh(desired: Desired, state: UnitState) -> None:
    """Raise ResourceError for a masked unit that runs: systemd only stops it."""
    if state.load == "masked" and desired.masked is not False:
        raise ResourceError(
            f"{desired.unit} is masked, and can't be restarted or reloaded",
            "write masked: false to unmask it, or ensure: stopped",
        )


def _before(desired: Desired, state: UnitState) -> Iterator[Step]:
    if desired.masked is False and state.is_masked:
        yield FileChange.UNMASK
    if state.stale:
        yield DAEMON_RELOAD


def _running(desired: Desired, state: UnitState, *, refresh: bool) -> Iterator[Step]:
    """The jobs to run. A start replaces a refresh, since it reads the whole configuration."""
    if desired.ensure == "stopped":
        if state.is_up:
            yield Job.STOP
    elif not state.is_running:
        yield Job.START
    elif refresh:
        _refuse_refresh(desired, state)
        yield desired.on_refresh


def _after(desired: Desired, state: UnitState) -> Iterator[Step]:
    if desired.enable and not counts_as_enabled(desired, state):
        yield FileChange.ENABLE
    if desired.enable is False and state.can_be_undone:
        yield FileChange.DISABLE
    if desired.masked and state.files != "masked":  # a runtime mask disappears at the next boot
        yield FileChange.MASK
