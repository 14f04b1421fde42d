"""Handles units that systemd generates from scripts in /etc/init.d. Links in /etc/rc?.d enable them."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import replace
from typing import Final

from reactor import ResourceError
from reactor.resources.process import ENVIRONMENT, Command, output_tail, run
from reactor.resources.service.state import NOT_FOUND, UnitState
from reactor.resources.service.systemd import FileChange

GENERATED: Final = "generated"
_SCRIPTS: Final = "/etc/init.d"
_PROGRAMS: Final = ("/usr/lib/systemd/systemd-sysv-install", "/lib/systemd/systemd-sysv-install")
"""The program that `systemctl enable` calls for such a script."""


_RUNLEVELS: Final = "2345S"
"""The runlevels whose links make a generated unit start at boot."""


def scripts_of(unit: str) -> tuple[str, ...]:
    """The paths of the scripts from which ``unit`` may be generated; systemd drops a final ``.sh``."""
    name, extension = os.path.splitext(unit)
    return (f"{_SCRIPTS}/{name}", f"{_SCRIPTS}/{name}.sh") if extension == ".service" else ()


def script_of(unit: str) -> str | None:
    """The name of the script from which ``unit`` is generated; None if there is none."""
    return next((os.path.basename(path) for path in scripts_of(unit) if os.access(path, os.X_OK)), None)


def file_state(script: str) -> str:
    """Whether ``script`` has a link that starts it at boot, as in `systemctl is-enabled`.

    Debian's systemd-sysv-install checks only the runlevels S and 5.
    """
    link = re.compile(rf"S[0-9]{{2}}{re.escape(script)}")
    for directory in (f"/etc/rc{level}.d" for level in _RUNLEVELS):
        with suppress(OSError):
            if any(map(link.fullmatch, os.listdir(directory))):
                return "enabled"
    return "disabled"


def with_script(state: UnitState, script: str | None) -> UnitState:
    """``state`` of a unit that may have a ``script``, with the file state of that if the unit is generated from it."""
    if script is None:
        return state
    if state.load == NOT_FOUND:  # not generated yet
        state = replace(state, load="loaded", stale=True, files=state.files and GENERATED)
    return replace(state, files=file_state(script)) if state.files == GENERATED else state


def is_unread(state: UnitState, unit: str) -> bool:
    """Whether there is a script for ``unit`` from which systemd has not generated a unit yet."""
    return state.load == NOT_FOUND and script_of(unit) is not None


async def change_links(change: FileChange, script: str) -> None:
    """Enable or disable ``script``. Raises ResourceError when that fails."""
    program = next((path for path in _PROGRAMS if os.access(path, os.X_OK)), None)
    if program is None:
        hint = "install the package that has it: init-system-helpers on Debian, chkconfig on Red Hat"
        raise ResourceError(f"{_SCRIPTS}/{script}: can't {change} it without systemd-sysv-install", hint)
    completed = await run(Command((program, change, script), "/", ENVIRONMENT))
    if completed.exit_code != 0:
        raise ResourceError(
            f"{_SCRIPTS}/{script}: can't {change} it{output_tail(completed.stdout, completed.stderr)}"
        )
