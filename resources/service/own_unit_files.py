"""The unit files that reactor makes for a unit of its own: none may hide another, and systemd must read them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from reactor import ResourceError
from reactor.resources.process import perform
from reactor.resources.service.kind import Service
from reactor.resources.service.systemd import Systemd
from reactor.resources.service.unit_files import unit_files_of
from reactor.watchers.dbus import Scope


def refuse_foreign(unit: str, own_directory: str | None = None) -> None:
    """Raise ResourceError if there is a unit file of that name outside of ``own_directory``, such as of a package."""
    ours = own_directory and os.path.realpath(own_directory)
    files = unit_files_of(unit, Scope.SYSTEM)
    others = [file for file in files if os.path.realpath(os.path.dirname(file)) != ours]
    if others:
        words = f"there is a unit {unit} already: {others[0]}"
        raise ResourceError(words, "choose another name, or write a drop-in for that unit as a file")


async def let_systemd_read(service: Service, units: Sequence[str], *, must_load: bool) -> None:
    """Let systemd read the files of ``units`` again, if it has not. Raises ResourceError.

    It may remember a unit that failed and whose file was then removed: it calls that one neither stale nor loaded.
    With ``must_load``, it then reads all files again.
    """

    async def reread(systemd: Systemd) -> bool:
        for unit in units:
            await systemd.reread(unit)
        states = [await systemd.state(unit, "stopped", files=False) for unit in units]
        return all(state.load == "loaded" for state in states)

    if not await service.with_systemd(reread) and must_load:
        await perform("systemctl", "daemon-reload")
