"""What `Service.observe` finds, and what it means."""

from __future__ import annotations

from dataclasses import dataclass

_RESTING = {"active", "inactive", "failed", "maintenance"}
_DOWN = {"inactive", "failed"}
_AT_BOOT = {"enabled", "enabled-runtime", "alias", "static", "indirect", "generated", "transient"}
_NOT_AT_BOOT = {"linked", "linked-runtime", "masked", "masked-runtime", "disabled"}
_MASKED = {"masked", "masked-runtime"}

NOT_FOUND = "not-found"


@dataclass(frozen=True, slots=True)
class UnitState:
    """A unit, in systemd's own words; empty where it says nothing.

    ``job`` is the type of the job that is queued or runs. ``files`` is what ``is-enabled`` says, and empty when nobody
    asked. ``stale`` tells that systemd has not read the unit's files since they changed.
    """

    load: str
    active: str
    sub: str
    job: str = ""
    files: str = ""
    stale: bool = False

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
