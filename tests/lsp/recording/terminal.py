"""A terminal with a program in it: keys go in, and its screen is seen as runs of characters with one look each."""

import fcntl
import os
import pty
import select
import struct
import termios
import time
from itertools import groupby
from typing import NamedTuple

import pyte

LIMIT = 20.0
"""Seconds in which a program has to show what is waited for."""
QUIET = 0.3
"""Seconds without output after which a program has drawn its screen."""


class Look(NamedTuple):
    """How a character is drawn: colours by their names, "default" for none."""

    color: str
    background: str
    is_bold: bool
    is_italic: bool
    is_underlined: bool


class Run(NamedTuple):
    """Characters of one row, from a column on, which look the same."""

    column: int
    text: str
    look: Look


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, command, environment, columns, lines):
        self.columns, self.lines = columns, lines
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execvpe(command[0], command, environment)

    def close(self):
        """End the program."""
        os.close(self._file)
        os.waitpid(self._pid, 0)

    def keys(self, keys):
        """Press keys."""
        os.write(self._file, keys.encode())

    def until(self, *texts, without=()):
        """Wait until the screen has been drawn with ``texts`` on it, and nothing of ``without``."""
        deadline = time.monotonic() + LIMIT
        while True:
            self._settle(deadline)
            shown = "\n".join(self._screen.display)
            if all(each in shown for each in texts) and not any(each in shown for each in without):
                return
            assert time.monotonic() < deadline, f"{texts} without {without} is not on the screen:\n{shown}"

    def _settle(self, deadline):
        while time.monotonic() < deadline and select.select([self._file], [], [], QUIET)[0]:
            self._stream.feed(os.read(self._file, 65536))

    def rows(self):
        """Return what is on the screen, with the cursor as a character in reverse."""
        return tuple(tuple(self._runs(line)) for line in range(self.lines))

    def _runs(self, line):
        row, cursor, column = self._screen.buffer[line], self._screen.cursor, 0
        cells = []
        for at in range(self.columns):
            cell = row[at]
            has_cursor = not cursor.hidden and (line, at) == (cursor.y, cursor.x)
            cells.append((cell.data, look_of(cell, has_cursor)))
        for look, group in groupby(cells, key=lambda cell: cell[1]):
            text = "".join(data for data, _ in group)
            if text.strip() or look.background != "default" or look.is_underlined:
                yield Run(column, text if look.background != "default" else text.rstrip(), look)
            column += len(text)


def look_of(cell, has_cursor):
    """Return the look of a cell of the screen."""
    color, background = cell.fg, cell.bg
    if cell.reverse:
        color, background = background, color
        color = "screen" if color == "default" else color
        background = "text" if background == "default" else background
    if has_cursor:
        color, background = "screen", "cursor"
    return Look(color, background, cell.bold, cell.italics, cell.underscore)
