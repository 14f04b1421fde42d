"""What `Service.observe` finds, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_RESTING = {"active", "inactive", "failed", "maintenance"}
_DOWN = {"inactive", "failed"}
_AT_BOOT = {"enabled", "enabled-runtime", "alias", "static", "indirect", "generated", "transient"}
_NOT_AT_BOOT = {"linked", "linked-runtime", "masked", "masked-runtime", "disabled"}
_MASKED = {"masked", "masked-runtime"}
_ENABLED = {"enabled", "static", "alias", "indirect", "generated", "transient"}
_REASONS = {
    "static": "it has no [Install], others start it",
    "generated": "a generator makes it at each boot, others start it",
    "transient": "it was made at run time, and is gone after a reboot",
    "enabled-runtime": "it is enabled until the next boot only",
    "indirect": "its [Install] has nothing that starts it",
}
"""Why a unit that counts as enabled may not start at boot."""
NOT_FOUND = "not-found"
CONFLICTS: Final = ("Conflicts", "ConflictedBy")
"""The properties that name the units that can't run beside a unit."""
TRIGGERS: Final = ("TriggeredBy",)
"""The properties that name the sockets, timers and paths that start a unit."""
USUAL: Final = frozenset({"shutdown.target", "umount.target"})
"""What nearly every unit conflicts with."""


@dataclass(frozen=True, slots=True)
class UnitState:
    """A unit, in systemd's own words; empty where it says nothing.

    ``job`` is the type of the job that is queued or runs. ``files`` is what ``is-enabled`` says, and empty when nobody
    asked. ``stale`` tells that systemd has not read the unit's files since they changed. ``also`` has, for an indirect unit,
    the units that its [Install] names, each with what ``is-enabled`` says of it. ``unit`` is the unit's own name, where it was
    asked for by an alias. ``related`` are the active units that conflict with one that is to run, or start one that is to
    be stopped. ``preset`` is whether the presets enable it, None where nobody asked or they leave it alone.
    """

    load: str
    active: str
    sub: str
    job: str = ""
    files: str = ""
    stale: bool = False
    also: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    related: tuple[str, ...] = ()
    preset: bool | None = None

    @property
    def is_up(self) -> bool:
        """Whether it runs, or is about to: what is to be stopped."""
        return self.active not in _DOWN

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self.active in {"active", "reloading"}

    @property
    def is_there(self) -> bool:
        """Whether there is such a unit; one that runs on after its file was removed is there."""
        return self.is_up or NOT_FOUND not in (self.load, self.files)

    @property
    def awaits_restart(self) -> bool:
        """Whether it has ended, and systemd will start it again by itself."""
        return self.sub.startswith("auto-restart")

    @property
    def at_boot(self) -> bool:
        """Whether it starts at boot, as CCM counts it: what can't be enabled but is pulled in by others does."""
        return self.files in _AT_BOOT

    @property
    def for_good(self) -> bool:
        """Whether everything is done that makes it start at every boot; of an indirect unit, with what it names."""
        return self.files in _ENABLED and all(state in _ENABLED for _, state in self.also)

    @property
    def can_be_undone(self) -> bool:
        """Whether something is done that makes it start at a boot, and that disabling takes away."""
        if self.files == "indirect":
            return any(state in {"enabled", "enabled-runtime"} for _, state in self.also)
        return self.at_boot

    @property
    def boot_note(self) -> str | None:
        """What people should know of a unit that counts as enabled without being so; None where it simply is."""
        if self.also:
            return f"{self.files}: its [Install] only names {listed([name for name, _ in self.also])}"
        if self.files == "alias":
            return f"alias: it is another name of {self.unit or 'a unit'}, enable that"
        reason = _REASONS.get(self.files)
        return None if reason is None else f"{self.files}: {reason}"

    @property
    def is_switchable(self) -> bool:
        """Whether `enable` is a question at all."""
        return self.files in _AT_BOOT | _NOT_AT_BOOT

    @property
    def is_masked(self) -> bool:
        """Whether nothing can start it."""
        return self.files in _MASKED

    def is_on_its_way(self, ensure: str) -> bool:
        """Whether systemd is bringing it into another state, so that it is too early to act for ``ensure``."""
        if ensure == "stopped":
            return self.active == "deactivating" or self.job == "stop"
        return bool(self.job) or self.active not in _RESTING


def listed(names: Sequence[str]) -> str:
    """The names as people list them."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


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
