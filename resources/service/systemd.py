"""The interface to systemd, with implementations over D-Bus and by systemctl."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, Protocol

from reactor.resources.service.state import UnitState

PREFLIGHT_FACTS: Final = (
    "RefuseManualStart",
    "RefuseManualStop",
    "Requires",
    "Type",
    "RemainAfterExit",
    "Restart",
)
"""The properties of a unit that a dry run checks."""


class Job(StrEnum):
    """A job that changes the running state of a unit; the values are commands of `systemctl`."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    RELOAD = "reload"
    RELOAD_OR_RESTART = "reload-or-restart"


class FileChange(StrEnum):
    """A change of the links in the directories of systemd; the values are commands of `systemctl`."""

    ENABLE = "enable"
    DISABLE = "disable"
    MASK = "mask"
    UNMASK = "unmask"


class Systemd(Protocol):
    """One systemd. All methods raise ResourceError when it refuses, and OSError when it can't be reached."""

    async def state(self, unit: str, ensure: str, *, files: bool) -> UnitState:
        """The state of a unit after a transition. With ``files``, also whether it is enabled."""

    async def facts(self, unit: str, names: Collection[str] = PREFLIGHT_FACTS) -> Mapping[str, str]:
        """The properties of a unit with these ``names``, as in ``systemctl show``; by default, what a dry run checks."""

    async def run(self, job: Job, unit: str) -> None:
        """Run the job, and wait for its end, after which a started unit runs."""

    async def change_files(self, change: FileChange, unit: str) -> bool:
        """Make the change, and make systemd read it. Returns whether systemd reported changed links."""

    async def reread(self, unit: str) -> None:
        """Reload systemd if the files of ``unit`` have changed since it read them."""
