"""Passes on the output of a command line by line, and keeps a bounded tail of it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from typing import Final

import trio

from reactor import masked_start

TAIL_BYTES = 64 * 1024
"""The bytes of each stream that are kept, and the longest line that is passed on in one piece."""
_WORDS_LINES = 3
_WORDS_WIDTH = 200
INTERVAL: Final = 0.1
"""Seconds between two reads: the kernel sends no event when a file in memory grows."""


class Output:
    """One stream of one command. Bytes that are not UTF-8 are shown in hexadecimal."""

    def __init__(self, on_line: Callable[[str], None] | None = None) -> None:
        self._on_line = on_line
        self._kept = bytearray()
        self._line = bytearray()
        self._fed = 0

    def feed(self, chunk: bytes) -> None:
        """Add bytes that the command wrote."""
        self._fed += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * TAIL_BYTES:  # trimming at every chunk would copy the tail each time
            del self._kept[:-TAIL_BYTES]
        if self._on_line is not None:
            self._line += chunk
            *lines, self._line = self._line.split(b"\n")
            for line in lines:
                self._on_line(_decode(line))
            if len(self._line) > TAIL_BYTES:
                self.end()

    def end(self) -> None:
        """Pass on a last line that has no newline."""
        if self._on_line is not None and self._line:
            self._on_line(_decode(self._line))
            self._line = bytearray()

    @property
    def is_cut(self) -> bool:
        """Whether the stream was longer than `tail`."""
        return self._fed > TAIL_BYTES

    @property
    def tail(self) -> str:
        """The last `TAIL_BYTES` of the stream."""
        return _decode(self._kept[-TAIL_BYTES:])


def _decode(data: bytearray) -> str:
    return data.decode(errors="backslashreplace")


def output_tail(stdout: str, stderr: str) -> str:
    """The last lines of the output for an error message, each on its own line; from stderr if it is not empty."""
    lines = [line.rstrip() for line in (stderr if stderr.strip() else stdout).splitlines() if line.strip()]
    return "".join(f"\n  {masked_start(line, _WORDS_WIDTH)}" for line in lines[-_WORDS_LINES:])


@contextmanager
def memory_file() -> Iterator[FileIO]:
    """A file in memory in append mode. It is sealed after the block, since a daemon may continue to write to it."""
    fd = os.memfd_create("output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with FileIO(fd, "r+") as file:
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)  # opening /dev/stderr for writing truncates it
        try:
            yield file
        finally:
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)


async def follow(file: FileIO, output: Output) -> None:
    """Pass on the bytes that are written to ``file``, until cancelled."""
    place = 0
    try:
        while True:
            place = _pass_on(file, place, output)
            await trio.sleep(INTERVAL)
    finally:
        _pass_on(file, place, output)


def _pass_on(file: FileIO, place: int, output: Output) -> int:
    """Pass on the bytes after ``place``. Returns the new place."""
    end = os.fstat(file.fileno()).st_size
    if end < place:  # the command has truncated it
        place = 0
    while place < end and (chunk := os.pread(file.fileno(), min(TAIL_BYTES, end - place), place)):
        output.feed(chunk)
        place += len(chunk)
    return place
