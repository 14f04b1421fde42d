"""What a command writes: passed on line by line, and its end kept within bounds."""

from __future__ import annotations

from collections.abc import Callable

TAIL_BYTES = 64 * 1024
"""So much of each stream is kept; it is also the longest line passed on in one piece."""

_WORDS_LINES = 3
_WORDS_WIDTH = 200


class Output:
    """One stream of one command. It takes any bytes; what is not UTF-8 is shown in hexadecimal."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self._tell = tell
        self._kept = bytearray()
        self._line = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take what the command wrote."""
        self._kept += chunk
        if len(self._kept) > 2 * TAIL_BYTES:  # trimming at every chunk would copy the tail each time
            del self._kept[:-TAIL_BYTES]
        if self._tell is not None:
            self._line += chunk
            *lines, self._line = self._line.split(b"\n")
            for line in lines:
                self._tell(_decode(line))
            if len(self._line) > TAIL_BYTES:
                self.end()

    def end(self) -> None:
        """Pass on a last line that has no newline."""
        if self._tell is not None and self._line:
            self._tell(_decode(self._line))
            self._line = bytearray()

    @property
    def tail(self) -> str:
        """The last of it, at most `TAIL_BYTES`."""
        return _decode(self._kept[-TAIL_BYTES:])


def _decode(data: bytearray) -> str:
    return data.decode(errors="backslashreplace")


def output_tail(stdout: str, stderr: str) -> str:
    """The last lines of a command for an error text, each on a line of its own; those of stderr, if any."""
    lines = [line.rstrip() for line in (stderr if stderr.strip() else stdout).splitlines() if line.strip()]
    return "".join(f"\n  {line[:_WORDS_WIDTH]}" for line in lines[-_WORDS_LINES:])
