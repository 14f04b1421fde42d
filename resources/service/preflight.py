"""Checks, for a dry run, that a unit can be started or stopped. Nothing is changed.

Conditions, and the exit of the program, are not checked: systemd evaluates them only at the start.
"""

from __future__ import annotations

from collections.abc import Mapping

from reactor import ResourceError
from reactor.resources.service import unit_errors
from reactor.resources.service.planner import Desired
from reactor.resources.service.state import NOT_FOUND, UnitState
from reactor.resources.service.systemd import Systemd


async def refuse(systemd: Systemd, desired: Desired, state: UnitState) -> None:
    """Raise the ResourceError with which the change from ``state`` to ``desired`` would fail."""
    if desired.ensure == "stopped" and state.is_up:
        if (await systemd.facts(desired.unit)).get("RefuseManualStop") == "yes":
            raise _only_by_others(desired.unit, "stopped")
    elif desired.ensure == "running" and not state.is_running and not state.stale:
        await _refuse_start(systemd, desired, state)


async def _refuse_start(systemd: Systemd, desired: Desired, state: UnitState) -> None:
    unit = desired.unit
    if state.load == "masked":  # systemd reads its unit file only after the unmask
        if desired.masked is not False:
            hint = "write masked: false to unmask it, or ensure: stopped"
            raise ResourceError(f"{unit} is masked, and can't be started", hint)
        return
    if (error := unit_errors.broken(unit, state.load)) is not None:
        raise error
    facts = await systemd.facts(unit)
    if facts.get("RefuseManualStart") == "yes":
        raise _only_by_others(unit, "started")
    _refuse_one_that_ends(unit, facts)
    for needed in facts.get("Requires", "").split():
        found = await systemd.state(needed, "running", files=False)
        if not found.is_running and found.load in (NOT_FOUND, "masked"):
            what = "is masked" if found.load == "masked" else "is not there"
            hint = f"require the resource that installs {needed}, or correct Requires= in the unit file"
            raise ResourceError(
                f"{unit} can't be started: it requires {needed}, which {what}",
                hint,
                missing=f"service#{needed}",
            )


def _refuse_one_that_ends(unit: str, facts: Mapping[str, str]) -> None:
    ends = facts.get("Type") == "oneshot" and facts.get("RemainAfterExit") == "no"
    if ends and facts.get("Restart", "no") == "no":
        hint = "a unit of Type=oneshot counts as running afterwards only with RemainAfterExit=yes"
        raise ResourceError(f"{unit} does not run after its start: it is of Type=oneshot", hint)


def _only_by_others(unit: str, done: str) -> ResourceError:
    hint = "manage the unit that pulls it in, such as a target with Wants="
    return ResourceError(f"{unit} can't be {done} by itself: its unit file refuses it", hint)
