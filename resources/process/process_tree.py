"""Who belongs to a command: its process group, and its descendants that have left that, as with setsid(1)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import trio

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_KILL_GRACE = 1.0  # a process that waits for the kernel does not even take SIGKILL; it must not hold us
_PAUSE = 0.02


class Process(NamedTuple):
    """A process. Its number and the time it was started at, in ticks since boot, are together no other's."""

    pid: int
    started: int
    parent: int
    group: int
    is_zombie: bool


class ProcessTree:
    """The group of a leader that is a child not yet reaped, and whoever descends from a member.

    A daemon, whose parent has ended before it was looked at, is nobody's child any more and does not belong to it.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._known: set[tuple[int, int]] = set()

    def alive(self) -> list[Process]:
        """Its members now, and those from earlier looks, also when who connects them has ended. No zombies."""
        processes = list(_processes())
        members = {each.pid for each in processes if self._is_known(each)}
        size = -1
        while size != len(members):
            size = len(members)
            members.update(each.pid for each in processes if each.parent in members)
        found = [each for each in processes if each.pid in members]
        self._known.update((each.pid, each.started) for each in found)
        return [each for each in found if not each.is_zombie]

    def send(self, number: int) -> None:
        """Send a signal to all of it: to the group in one step, which no member can escape by a fork."""
        members = self.alive()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)
        for each in members:
            if each.group != self._leader:
                _send(each, number)

    def _is_known(self, process: Process) -> bool:
        return process.group == self._leader or (process.pid, process.started) in self._known


def _processes() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := _process(int(entry.name))):
            yield process


def _process(pid: int) -> Process | None:
    """None when it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        # pid (name) state parent group ... started ...; the name may hold anything, also parentheses
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return Process(pid, int(fields[19]), int(fields[1]), int(fields[2]), fields[0] == b"Z")
    return None


def _send(process: Process, number: int) -> None:
    """Send a signal to just this process: once the descriptor is open, the number is no one else's."""
    with suppress(OSError):
        pidfd = os.pidfd_open(process.pid)
        try:
            now = _process(process.pid)
            if now is not None and now.started == process.started:
                signal.pidfd_send_signal(pidfd, number)
        finally:
            os.close(pidfd)


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
