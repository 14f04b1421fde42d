"""Lets the systemd that runs know the default locale: services that it starts from now on then have it, too.

The file counts, which systemd reads when it boots. So nothing depends on an answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from reactor import emit_note
from reactor.watchers.dbus import CallError, NoBusError, Scope, connect
from reactor.watchers.units import MANAGER, MANAGER_PATH, SYSTEMD

_IS_RUNNING = "/run/systemd/system"


async def tell(variables: Mapping[str, str]) -> None:
    """Set the variables in the environment of services that start from now on. Does nothing where no systemd runs."""
    if not os.path.isdir(_IS_RUNNING):  # noqa: ASYNC240 - in memory
        return
    assignments = [f"{name}={value}" for name, value in variables.items()]
    try:
        bus = await connect(Scope.SYSTEM)
        await bus.call(SYSTEMD, MANAGER_PATH, MANAGER, "SetEnvironment", "as", assignments)
    except (NoBusError, CallError) as error:
        emit_note(f"services have the new locale after the next boot only: {error}")
