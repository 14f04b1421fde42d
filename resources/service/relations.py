"""What a unit has to do with others: those that it can't run beside, and those that start it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reactor.resources.service.state import UnitState, listed

CONFLICTS: Final = ("Conflicts", "ConflictedBy")
"""The properties that name the units that can't run beside a unit."""

TRIGGERS: Final = ("TriggeredBy",)
"""The properties that name the sockets, timers and paths that start a unit."""

USUAL: Final = frozenset({"shutdown.target", "umount.target"})
"""What nearly every unit conflicts with."""


def relations_to_ask(state: UnitState, ensure: str) -> tuple[str, ...]:
    """Which properties name the units that matter to what becomes of ``state`` under ``ensure``."""
    if state.load == "masked":
        return ()
    if ensure == "stopped":
        return TRIGGERS
    return () if state.is_running else CONFLICTS


def warning_of(units: Sequence[str]) -> str:
    """What people should know of a stopped unit that ``units`` are there to start."""
    if len(units) == 1:
        return f"{units[0]} is active, and starts it again: have service#{units[0]} stopped, too"
    return f"{listed(units)} are active, and start it again: have them stopped, too"
