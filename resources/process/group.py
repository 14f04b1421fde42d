"""Ends a process group and all its descendants: politely first, then for certain, and always within bounds."""

from __future__ import annotations

import os
import signal

import trio

from reactor.resources.process.process_tree import ProcessTree

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_KILL_GRACE = 1.0  # a process that waits for the kernel does not even take SIGKILL; it must not hold us
_PAUSE = 0.02


async def end_group(group: int) -> None:
    """End all processes of a group whose leader is a child not yet reaped, and all that descend from them.

    That keeps the number from becoming a stranger's. Every member has `TERM_GRACE` to clean up, also when the
    leader goes first.
    """
    family = ProcessTree(group)
    for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
        family.send(number)
        with trio.move_on_after(grace):
            while members := family.alive():
                for each in members:
                    await _wait_for_exit(each.pid)


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
