"""Tells people what a package manager is doing: it may fetch for minutes, and that looks like a hang."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

from reactor import say
from resources.package.locks import waiting_for
from resources.process.output import Output

FIRST: Final = 5.0
"""Seconds after which something is said; each wait from then on is twice as long as the one before."""
LONGEST: Final = 60.0
"""Seconds between two lines at most."""

_WAITS: Final = re.compile(r"Waiting for .*\b(?:process|pid) (\d+)")
"""How apt and dnf tell of a lock that another process holds."""
_PERCENT: Final = re.compile(r"(?:dl|pm)status:[^:]*:(\d+)")
"""How the lines begin that apt writes where ``APT::Status-Fd`` says: it fetches, or changes something, and how far."""


class Narration:
    """One run of ``program``. Of all that it says, only the latest counts; ``tell`` is given every line."""

    def __init__(self, program: str, tell: Callable[[str], None] | None = None) -> None:
        self._program = program
        self._tell = tell
        self._latest = ""
        self._percent = ""
        self._holder: int | None = None

    def hear(self, line: str) -> None:
        """Take a line that the program wrote. That it waits for another is said at once."""
        if self._tell is not None:
            self._tell(line)
        if waits := _WAITS.match(line):
            if (holder := int(waits[1])) != self._holder:
                self._holder = holder
                say(waiting_for(holder))
        elif words := " ".join(line.split()):
            self._latest = f": {words}"

    async def speak(self) -> None:
        """Say now and then what the program does, until cancelled."""
        began = trio.current_time()
        wait = FIRST
        while True:
            await trio.sleep(wait)
            taken = f"{trio.current_time() - began:.0f}s"
            say(f"{self._program} has been at work for {taken}{self._percent}{self._latest}")
            wait = min(2 * wait, LONGEST)

    @contextmanager
    def status(self, nursery: trio.Nursery) -> Iterator[int]:
        """A descriptor for the program to write its progress to."""
        reading, writing = os.pipe()
        nursery.start_soon(self._listen, reading)
        try:
            yield writing
        finally:
            os.close(writing)

    def _note(self, line: str) -> None:
        if percent := _PERCENT.match(line):
            self._percent = f" ({percent[1]}%)"

    async def _listen(self, descriptor: int) -> None:
        lines = Output(self._note)
        async with trio.lowlevel.FdStream(descriptor) as stream:
            async for chunk in stream:
                lines.feed(bytes(chunk))
