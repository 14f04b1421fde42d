"""What a service needs of systemd, whatever the way to it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

from reactor.resources.service.state import UnitState

FORESEEN: Final = ("RefuseManualStart", "RefuseManualStop", "Requires", "Type", "RemainAfterExit", "Restart")
"""The properties of a unit that a rehearsal looks at."""


class Job(StrEnum):
    """What systemd is asked to do with a running state; as `systemctl` calls it."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    RELOAD = "reload"
    RELOAD_OR_RESTART = "reload-or-restart"


class FileChange(StrEnum):
    """What it is asked to do with the links in its directories."""

    ENABLE = "enable"
    DISABLE = "disable"
    MASK = "mask"
    UNMASK = "unmask"


class Systemd(Protocol):
    """One systemd. Everything raises ResourceError when it says no, and OSError when it can't be reached."""

    async def state(self, unit: str, ensure: str, *, files: bool) -> UnitState:
        """The state of a unit, once it is not on its way to another. With ``files``, also whether it is enabled."""

    async def facts(self, unit: str) -> Mapping[str, str]:
        """What a rehearsal asks of a unit, in the words of ``systemctl show``."""

    async def run(self, job: Job, unit: str) -> None:
        """Do it and wait for its end; what was started runs then."""

    async def change_files(self, change: FileChange, unit: str) -> bool:
        """Do it, and have systemd know. Returns whether systemd has told of links that it made or removed."""

    async def reread(self, unit: str) -> None:
        """Have systemd read its files if those of ``unit`` have changed since it did."""
