"""Units that a generator of systemd makes from scripts in /etc/init.d: what starts them at boot are links in /etc/rc?.d."""

from __future__ import annotations

import os
from typing import Final

from reactor import ResourceError
from resources.process import ENVIRONMENT, Command, Completed, last_words, run
from resources.service.systemd import FileChange

GENERATED: Final = "generated"
_SCRIPTS: Final = "/etc/init.d"
_PROGRAMS: Final = ("/usr/lib/systemd/systemd-sysv-install", "/lib/systemd/systemd-sysv-install")
"""Where a distribution has what `systemctl enable` calls for such a script."""


def has_script(unit: str) -> bool:
    """Whether there is a script of that name, and what makes its links."""
    name, extension = os.path.splitext(unit)
    return extension == ".service" and os.path.exists(f"{_SCRIPTS}/{name}") and _program() is not None


async def file_state(unit: str) -> str:
    """Whether the script of ``unit`` has its links, in the words of `systemctl is-enabled`."""
    return "enabled" if (await _install("is-enabled", unit)).exit_code == 0 else "disabled"


async def change_links(change: FileChange, unit: str) -> None:
    """Enable or disable the script of ``unit``. Raises ResourceError when that fails."""
    completed = await _install(change, unit)
    if completed.exit_code != 0:
        raise ResourceError(f"{unit}: can't {change} it{last_words(completed.stdout, completed.stderr)}")


async def _install(verb: str, unit: str) -> Completed:
    program = _program()
    if program is None:
        raise ResourceError(f"{unit} comes from {_SCRIPTS}, and this host has no systemd-sysv-install")
    return await run(Command((program, verb, os.path.splitext(unit)[0]), "/", ENVIRONMENT))


def _program() -> str | None:
    return next((path for path in _PROGRAMS if os.access(path, os.X_OK)), None)
