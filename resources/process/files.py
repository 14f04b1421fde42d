"""What a command writes to when it may outlive its reader: files in memory. A pipe would break."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from typing import Final

import trio

from reactor.resources.process.output import TAIL_BYTES, Output

INTERVAL: Final = 0.1
"""Seconds between two looks: the kernel tells nobody that such a file grows."""


@contextmanager
def memory_file() -> Iterator[FileIO]:
    """A new one, to write to its end. It takes no more once this is over: a daemon may have kept it, to write for ever."""
    fd = os.memfd_create("output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with FileIO(fd, "r+") as file:
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)  # who opens /dev/stderr empties it
        try:
            yield file
        finally:
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)


async def follow(file: FileIO, output: Output) -> None:
    """Pass on what is written to ``file``, until cancelled."""
    place = 0
    try:
        while True:
            place = _pass_on(file, place, output)
            await trio.sleep(INTERVAL)
    finally:
        _pass_on(file, place, output)


def _pass_on(file: FileIO, place: int, output: Output) -> int:
    """What was written from ``place`` until now; returns where that ends."""
    end = os.fstat(file.fileno()).st_size
    if end < place:  # somebody has emptied it
        place = 0
    while place < end and (chunk := os.pread(file.fileno(), min(TAIL_BYTES, end - place), place)):
        output.feed(chunk)
        place += len(chunk)
    return place
