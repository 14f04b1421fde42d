"""Restores the files of the state directory if they are removed during a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from reactor.journal.schema import FILE_NAME
from reactor.journal.state_directory import (
    LOCK_FILE,
    PAUSES_FILE,
    SOCKET_FILE,
    LockedError,
    StateDirectory,
    StateDirectoryError,
)
from reactor.resource.watch import PathWatch

if TYPE_CHECKING:
    from reactor.control.control import Control
    from reactor.control.pause_controller import PauseController
    from reactor.engine.engine import Engine
    from reactor.journal.journal import Journal

CHECK_INTERVAL = 5.0
"""Seconds between the event of a removal and the check, and between two checks while a file can't be restored."""
LONGEST = 600.0
"""Seconds between two checks without an event."""


async def guard_state(
    engine: Engine,
    directory: StateDirectory,
    journal: Journal | None,
    control: Control | None,
    warn: Callable[[str], None],
) -> None:
    """Restore removed files of the state directory from the state of the run, until cancelled.

    The lock is restored first: if another run has taken it meanwhile, nothing else may be written.
    """
    removals = _Removals()
    for name in (LOCK_FILE, FILE_NAME, f"{FILE_NAME}-wal", SOCKET_FILE, PAUSES_FILE):
        path = os.path.join(os.path.abspath(directory.path), name)  # noqa: ASYNC240 - it only joins names
        engine.watch_manager.listen(PathWatch(path, is_name=True), removals.note, removals.note)
    reported = ""
    while True:
        if not reported:
            await removals.wait()
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


class _Removals:
    """Events of names in the state directory. Writes to the journal cause none."""

    def __init__(self) -> None:
        self._came = trio.Event()

    def note(self) -> None:
        """There may have been a removal."""
        self._came.set()

    async def wait(self) -> None:
        """Return after the next event, or after `LONGEST` seconds."""
        with trio.move_on_after(LONGEST):
            await self._came.wait()
        self._came = trio.Event()


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
