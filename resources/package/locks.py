"""Waits until a package manager that someone else has started is done."""

from __future__ import annotations

import fcntl
import os
import struct

import trio

from reactor import emit_output

PATIENCE = 0.2
"""Seconds between two looks: the kernel does not tell when a lock becomes free, without taking it."""

_FLOCK = "hhqqi0q"
_WHOLE_FILE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


async def released(path: str) -> None:
    """Wait until no other process holds the lock on the file at ``path``, and say so when that takes a while."""
    told = None
    while (holder := _holder(path)) is not None:
        if holder != told:
            told = holder
            emit_output(f"{waiting_for(holder)} (it holds {path})")
        await trio.sleep(PATIENCE)


def waiting_for(holder: int) -> str:
    """What to say when that process has to end first."""
    return f"waiting for {_name(holder)} (process {holder}) to be done, however long that takes"


def _holder(path: str) -> int | None:
    """The process that holds the lock; None when none does, or when that can't be told."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # no such file: nobody ever locked it. Not ours to open: then nothing is changed either
        return None
    try:
        kind, _, _, _, holder = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, _WHOLE_FILE))
    finally:
        os.close(fd)
    return None if kind == fcntl.F_UNLCK else holder


def _name(process: int) -> str:
    try:
        with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:  # of another PID namespace, or gone
        return "another program"
