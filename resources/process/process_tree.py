"""Finds and kills the processes of a command: its group, and descendants outside of the group, as after setsid(1)."""

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
_KILL_GRACE = 1.0  # seconds: a process that waits for the kernel ignores even SIGKILL, and must not block us
_PAUSE = 0.02


class Process(NamedTuple):
    """A process. The pid together with the start time, in ticks since boot, identifies it."""

    pid: int
    started: int
    parent: int
    group: int
    is_zombie: bool


class ProcessTree:
    """The process group of a leader, which is a child not yet reaped, and all descendants of its members.

    A daemon whose parent ended before the tree was first read is no descendant, and does not belong to the tree.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._known: set[tuple[int, int]] = set()

    def alive(self) -> list[Process]:
        """The live members, without zombies.

        A process that was found once stays a member when its parent has ended.
        """
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
        """Send a signal to all members. One system call signals the group, so that no member escapes by a fork."""
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
    """The process with this pid; None if it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        # pid (name) state parent group ... started ...; the name may hold anything, also parentheses
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return Process(pid, int(fields[19]), int(fields[1]), int(fields[2]), fields[0] == b"Z")
    return None


def _send(process: Process, number: int) -> None:
    """Send a signal to exactly this process: a pidfd never refers to a later process with the same pid.

    Where there are none, a process that takes over the pid in this very moment would get the signal.
    """
    with suppress(OSError):
        try:
            pidfd = os.pidfd_open(process.pid)
        except OSError:  # there are none, or no descriptor is free
            if _is_same(process):
                os.kill(process.pid, number)
            return
        try:
            if _is_same(process):
                signal.pidfd_send_signal(pidfd, number)
        finally:
            os.close(pidfd)


def _is_same(process: Process) -> bool:
    now = _process(process.pid)
    return now is not None and now.started == process.started


async def end_group(group: int) -> None:
    """Terminate all processes of a group and their descendants.

    The leader must be a child that is not reaped yet, so that its pid can't belong to another process. Every member
    has `TERM_GRACE` to clean up, even if the leader ends first.
    """
    tree = ProcessTree(group)
    for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
        tree.send(number)
        with trio.move_on_after(grace):
            while members := tree.alive():
                for each in members:
                    await _wait_for_exit(each.pid)


async def _wait_for_exit(pid: int) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:  # it has ended, no descriptor is free, or there are no pidfds: check again soon
        await trio.sleep(_PAUSE)
        return
    try:
        await trio.lowlevel.wait_readable(pidfd)
    finally:
        os.close(pidfd)
