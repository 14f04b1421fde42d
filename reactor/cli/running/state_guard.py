"""Restores the files of the state directory if they are removed during a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from reactor.control.protocol import SOCKET_FILE
from reactor.journal.schema import FILE_NAME
from reactor.journal.state_directory import (
    LOCK_FILE,
    PAUSES_FILE,
    LockedError,
    StateDirectory,
    StateDirectoryError,
)

if TYPE_CHECKING:
    from reactor.control.control import Control
    from reactor.control.pause_controller import PauseController
    from reactor.journal.journal import Journal

CHECK_INTERVAL = 5.0
"""Seconds between two checks. A watch in place of checks would also report every write to the journal."""


async def guard_state(
    directory: StateDirectory, journal: Journal | None, control: Control | None, warn: Callable[[str], None]
) -> None:
    """Restore removed files of the state directory from the state of the run, until cancelled.

    The lock is restored first: if another run has taken it meanwhile, nothing else may be written.
    """
    reported = ""
    while True:
        await trio.sleep(CHECK_INTERVAL)
        try:
            lost = await _replaced(directory, journal, control)
        except (LockedError, StateDirectoryError) as error:
            if reported != str(error):
                reported = str(error)
                warn(
                    f"the state directory {directory.path} was removed, and can't be restored: {error}; "
                    f"the run goes on, but forgets pending refreshes when it ends; {error.hint}"
                )
            continue
        if lost:
            reported = ""
            warn(
                f"{', '.join(lost)} was removed from the state directory {directory.path}, and is restored "
                "from this run"
            )


async def _replaced(directory: StateDirectory, journal: Journal | None, control: Control | None) -> list[str]:
    """Restore the missing files; return their names. Raises LockedError and StateDirectoryError."""
    lost = []
    if is_new := directory.is_lost():
        directory.renew()
        lost.append(LOCK_FILE)
    if journal is not None and journal.is_lost():
        await journal.renew()
        lost.append(FILE_NAME)
    if control is not None and control.is_lost():
        control.renew()
        lost.append(SOCKET_FILE)
    if control is not None and control.pause_controller is not None:
        is_lost = control.pause_controller.is_lost()
        if is_lost or is_new:
            _write_back(control.pause_controller)
        lost += [PAUSES_FILE] * is_lost
    return lost


def _write_back(pause_controller: PauseController) -> None:
    """Write the file of pauses again. Raises StateDirectoryError."""
    try:
        pause_controller.renew()
    except OSError as error:
        raise StateDirectoryError.of(error, f"can't write {PAUSES_FILE}") from error
