"""Ends a process group: politely first, then for certain, and always within bounds."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import trio

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_KILL_GRACE = 1.0  # a process that waits for the kernel does not even take SIGKILL; it must not hold us
_PAUSE = 0.02


async def end_group(group: int) -> None:
    """End all processes of a group whose leader is a child not yet reaped.

    That keeps the number from becoming a stranger's. Every member has `TERM_GRACE` to clean up, also when the
    leader goes first.
    """
    for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
        with trio.move_on_after(grace):
            while members := _living_members(group):
                for pid in members:
                    await _wait_for_exit(pid)


def _living_members(group: int) -> list[int]:
    """The processes of the group, without zombies: an init that does not reap would keep those for ever."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                # pid (name) state parent group ...; the name may hold anything, also parentheses
                state, _, its_group, *_ = (entry / "stat").read_bytes().rpartition(b")")[2].split(maxsplit=3)
                if int(its_group) == group and state != b"Z":
                    members.append(int(entry.name))
    return members


async def _wait_for_exit(pid: int) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:  # gone meanwhile, or no descriptor is left: look again soon
        await trio.sleep(_PAUSE)
        return
    try:
        await trio.lowlevel.wait_readable(pidfd)
    finally:
        os.close(pidfd)
