"""Waits for the locks of package managers that other processes hold, and finds out who may take them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import trio

from reactor import ResourceError, emit_output
from reactor.hostfs import lock_holder
from reactor.resources.process import missing_rights

POLL_INTERVAL = 0.2
"""Seconds between two checks: the kernel reports a free lock only to a process that takes it."""


async def released(*paths: str) -> None:
    """Wait until no other process holds the lock on any file of ``paths``, and report that."""
    reported = None
    while held := next(((holder, path) for path in paths if (holder := lock_holder(path)) is not None), None):
        if held != reported:
            reported = held
            emit_output(f"{waiting_for(held[0])} (it holds {held[1]})")
        await trio.sleep(POLL_INTERVAL)


def refuse_forbidden(paths: Iterable[str]) -> None:
    """Raise ResourceError if this process may not take the locks ``paths``: no package manager that it starts may.

    The kernel is asked, so access lists count.
    """
    if (needed := missing_rights()) is None:
        return
    for path in paths:
        may_make = not os.path.lexists(path) and os.access(
            os.path.dirname(path), os.W_OK | os.X_OK, effective_ids=True
        )
        if not (may_make or os.access(path, os.W_OK, effective_ids=True)):
            words = (
                f"packages can't be changed: permission denied to write {path}, which package managers lock"
            )
            raise ResourceError(words, needed)


def waiting_for(holder: int) -> str:
    """The message that the process ``holder`` must end first."""
    return f"waiting for {_name(holder)} (process {holder}) to be done, however long that takes"


def _name(process: int) -> str:
    try:
        with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:  # in another PID namespace, or ended
        return "another program"
