"""The observed state of a unit, and the conclusions from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reactor.resources.enumeration import listed

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
NOT_THERE = "not there"
_IGNORED = {NOT_FOUND, *_MASKED}
"""The states of units in Also= that systemd leaves as they are."""
CONFLICTS: Final = ("Conflicts", "ConflictedBy")
"""The properties that name units that can't run at the same time."""
TRIGGERS: Final = ("TriggeredBy",)
"""The properties that name the sockets, timers and paths that start a unit."""
USUAL: Final = frozenset({"shutdown.target", "umount.target"})
"""Units that nearly every unit conflicts with."""


@dataclass(frozen=True, slots=True)
class UnitState:
    """A unit, in the terms of systemd.

    ``job`` is the type of the queued or running job. ``files`` is the answer of ``is-enabled``, and empty if it was
    not asked. ``stale``: the files have changed since systemd read them. ``also``: for an indirect unit, the units in
    Also= of its [Install], each with the answer of ``is-enabled``. ``unit`` is its own name, if it was asked for by an
    alias. ``related``: the units that run or will, and conflict with a unit that should run, or start a unit that should be
    stopped. ``preset``: whether the presets enable it; None if that was not asked, or a rule ignores it.
    ``in_place_of_mask``: the path of what is where the link that masks it would be; empty if that is free, or not asked.
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
    in_place_of_mask: str = ""

    @property
    def is_up(self) -> bool:
        """Whether it runs or is starting, so that it must be stopped."""
        return self.active not in _DOWN

    @property
    def will_run(self) -> bool:
        """Whether it runs, is starting, or has a job in the queue of systemd that starts it."""
        return self.is_up or self.job not in {"", "stop"}

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self.active in {"active", "reloading"}

    @property
    def is_there(self) -> bool:
        """Whether the unit exists, also if it still runs after its file was removed."""
        return self.is_up or NOT_FOUND not in (self.load, self.files)

    @property
    def awaits_restart(self) -> bool:
        """Whether it has ended, and systemd will restart it."""
        return self.sub.startswith("auto-restart")

    @property
    def is_ending(self) -> bool:
        """Whether it has ended, or is cleaning up after itself, and no job starts it."""
        return self.awaits_restart or (self.active == "deactivating" and not self.job)

    @property
    def at_boot(self) -> bool:
        """Whether CCM counts it as enabled. That includes units that can't be enabled, but are pulled in by others."""
        return self.files in _AT_BOOT

    @property
    def for_good(self) -> bool:
        """Whether it is enabled for every boot; for an indirect unit, with the units in Also= that can be enabled."""
        return self.files in _ENABLED and self.can_be_enabled and not self.also_disabled

    @property
    def also_disabled(self) -> list[str]:
        """The units in Also= that enabling would enable: systemd ignores masked and missing ones."""
        return [name for name, state in self.also if state not in _ENABLED | _IGNORED]

    @property
    def can_be_enabled(self) -> bool:
        """Whether systemd would not ignore all units that an indirect unit names in Also=."""
        return not self.also or any(state not in _IGNORED for _, state in self.also)

    @property
    def can_be_undone(self) -> bool:
        """Whether disabling would change anything."""
        if self.files == "indirect":
            return any(state in {"enabled", "enabled-runtime"} for _, state in self.also)
        return self.at_boot

    @property
    def boot_note(self) -> str | None:
        """A note about a unit that counts as enabled, but may not start at boot; None if it is simply enabled."""
        if self.also:
            return f"{self.files}: its [Install] only names {self.also_in_words}"
        if self.files == "alias":
            return f"alias: it is another name of {self.unit or 'a unit'}, enable that"
        reason = _REASONS.get(self.files)
        return None if reason is None else f"{self.files}: {reason}"

    @property
    def last_run_note(self) -> str | None:
        """A note about a unit that runs and is masked, so that nothing can start it again; None for any other."""
        if not self.is_running or self.load != "masked":
            return None
        return "it is masked: it runs, and nothing can start it again; write masked: false to unmask it"

    @property
    def also_in_words(self) -> str:
        """The units in Also=, each with its file state, unless it is enabled or can be."""
        named = ((name, NOT_THERE if state == NOT_FOUND else state) for name, state in self.also)
        plain = {"enabled", "disabled"}
        return listed([name if state in plain else f"{name} ({state})" for name, state in named])

    @property
    def is_switchable(self) -> bool:
        """Whether it can be enabled or disabled."""
        return self.files in _AT_BOOT | _NOT_AT_BOOT

    @property
    def is_masked(self) -> bool:
        """Whether it is masked."""
        return self.files in _MASKED

    def is_on_its_way(self, ensure: str) -> bool:
        """Whether it is in a transition that must end before any action for ``ensure``."""
        if ensure == "stopped":
            return self.active == "deactivating" or self.job == "stop"
        return bool(self.job) or self.active not in _RESTING


def relations_to_ask(state: UnitState, ensure: str) -> tuple[str, ...]:
    """The properties that name units which affect the change from ``state`` to ``ensure``."""
    if state.load == "masked":
        return ()
    if ensure == "stopped":
        return TRIGGERS
    return () if state.is_running else CONFLICTS


def warning_of(units: Sequence[str]) -> str:
    """A warning about active ``units`` that start a stopped unit again."""
    if len(units) == 1:
        return f"{units[0]} is active, and starts it again: have service#{units[0]} stopped, too"
    return f"{listed(units)} are active, and start it again: have them stopped, too"
