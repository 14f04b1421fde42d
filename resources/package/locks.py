"""Waits for the locks of package managers that other processes hold."""

from __future__ import annotations

import fcntl
import os
import struct

import trio

from reactor import emit_output

POLL_INTERVAL = 0.2
"""Seconds between two checks: the kernel reports a free lock only to a process that takes it."""
_FLOCK = "hhqqi0q"
_WHOLE_FILE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


async def released(path: str) -> None:
    """Wait until no other process holds the lock on the file at ``path``, and report that."""
    reported = None
    while (holder := _holder(path)) is not None:
        if holder != reported:
            reported = holder
            emit_output(f"{waiting_for(holder)} (it holds {path})")
        await trio.sleep(POLL_INTERVAL)


def waiting_for(holder: int) -> str:
    """The message that the process ``holder`` must end first."""
    return f"waiting for {_name(holder)} (process {holder}) to be done, however long that takes"


def _holder(path: str) -> int | None:
    """The process that holds the lock; None if there is none, or it can't be found out."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # a missing file was never locked; if we may not open it, we can't change packages either
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
    except OSError:  # in another PID namespace, or ended
        return "another program"
