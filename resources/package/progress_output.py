"""Tells people what a package manager is doing: it may fetch for minutes, and that looks like a hang."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from io import FileIO
from typing import Final

import trio

from reactor import emit_output
from reactor.resources.package.locks import waiting_for
from reactor.resources.process.output import TAIL_BYTES

FIRST: Final = 5.0
"""Seconds after which something is said; each wait from then on is twice as long as the one before."""
LONGEST: Final = 60.0
"""Seconds between two lines at most."""

_WAITS: Final = re.compile(r"Waiting for .*\b(?:process|pid) (\d+)")
"""How apt and dnf tell of a lock that another process holds."""
_PERCENT: Final = re.compile(rb"^(?:dl|pm)status:[^:]*:(\d+)", re.MULTILINE)
"""How the lines begin that apt writes where ``APT::Status-Fd`` says: it fetches, or changes something, and how far."""


class ProgressOutput:
    """One run of ``program``. Of all that it says, only the latest counts; ``tell`` is given every line."""

    def __init__(self, program: str, tell: Callable[[str], None] | None = None) -> None:
        self._program = program
        self._tell = tell
        self._latest = ""
        self._holder: int | None = None

    def hear(self, line: str) -> None:
        """Take a line that the program wrote. That it waits for another is said at once."""
        if self._tell is not None:
            self._tell(line)
        if waits := _WAITS.match(line):
            if (holder := int(waits[1])) != self._holder:
                self._holder = holder
                emit_output(waiting_for(holder))
        elif words := " ".join(line.split()):
            self._latest = f": {words}"

    async def speak(self, progress: FileIO | None) -> None:
        """Say now and then what the program does, and how far it says in ``progress`` that it is, until cancelled."""
        began = trio.current_time()
        wait = FIRST
        while True:
            await trio.sleep(wait)
            taken = f"{trio.current_time() - began:.0f}s"
            emit_output(
                f"{self._program} has been at work for {taken}{_percent(progress) if progress else ''}{self._latest}"
            )
            wait = min(2 * wait, LONGEST)


def _percent(progress: FileIO) -> str:
    end = os.fstat(progress.fileno()).st_size
    told = _PERCENT.findall(os.pread(progress.fileno(), TAIL_BYTES, max(0, end - TAIL_BYTES)))
    return f" ({told[-1].decode()}%)" if told else ""
