"""The table on a terminal: the number of finished hosts, and the current step of each host in progress."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable

import trio

_ROWS = 15
_PER_SECOND = 5
_ERASE_BELOW = "\x1b[J"


class LiveTable:
    """Draws below the lines that are printed. ``write`` writes to the terminal."""

    def __init__(self, hosts: int, write: Callable[[str], None]) -> None:
        self._hosts = hosts
        self._write = write
        self._running: dict[str, tuple[float, str]] = {}
        self._done = 0
        self._drawn = 0

    def began(self, host: str) -> None:
        """Show that the push to a host has begun."""
        self._running[host] = (time.monotonic(), "connecting")

    def does(self, host: str, what: str) -> None:
        """Show the current step of a host; ``what`` is safe to print."""
        if host in self._running:
            self._running[host] = (self._running[host][0], what)

    def ended(self, host: str) -> None:
        """Show that a host has finished."""
        self._running.pop(host, None)
        self._done += 1

    def print(self, line: str) -> None:
        """Print a line that stays, above the table."""
        self.erase()
        self._write(f"{line}\n")

    async def run(self) -> None:
        """Draw, until cancelled."""
        while True:
            self.draw()
            await trio.sleep(1 / _PER_SECOND)

    def draw(self) -> None:
        """Draw the table as it is now."""
        width, height = shutil.get_terminal_size()
        rows = min(_ROWS, height - 3)
        now = time.monotonic()
        lines = [f"{self._done} of {self._hosts} hosts done"]
        for host, (since, what) in list(self._running.items())[: max(0, rows)]:
            lines.append(f"  {host}  {now - since:.0f} s  {what}")
        self.erase()
        self._write("".join(f"{line[: width - 1]}\n" for line in lines))
        self._drawn = len(lines)

    def erase(self) -> None:
        """Remove the table from the terminal."""
        if self._drawn:
            self._write(f"\x1b[{self._drawn}F{_ERASE_BELOW}")
            self._drawn = 0


def wants_live_table() -> bool:
    """Whether stdout is a terminal that can draw."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
