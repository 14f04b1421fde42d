"""The mount table: where things are mounted, of what type, and word of every change of it.

inotify says nothing when a file system is mounted over a watched directory, and file systems whose content
changes elsewhere (on a server, inside the kernel) send no events for that.
"""

from __future__ import annotations

import os
import re
import select
from contextlib import ExitStack

import trio

from reactor import is_shared

_KERNEL = frozenset(("cgroup", "cgroup2", "proc", "sysfs"))


class MountTable:
    """The mounts this process sees. Raises OSError when /proc is not there."""

    def __init__(self) -> None:
        with ExitStack() as opened:
            self._file = opened.enter_context(open("/proc/self/mountinfo", "rb", buffering=0))
            # The kernel announces a change as urgent data, for which trio cannot wait, but epoll can.
            self._changes = opened.enter_context(select.epoll())
            self._changes.register(self._file, select.EPOLLPRI)
            self._opened = opened.pop_all()
        self._lines: frozenset[bytes] = frozenset()
        self._types: dict[int, str] = {}
        self.points: frozenset[bytes] = frozenset()
        self._reread()

    def silent_type(self, device: int) -> str | None:
        """The type of the file system on ``device`` (``st_dev``) if it doesn't announce all its changes."""
        kind = self._types.get(device, "")
        return kind if kind in _KERNEL or is_shared(kind) else None

    async def changed(self) -> frozenset[bytes]:
        """Wait for a change; return the mount points that are new, gone or other.

        The kernel tells of a change once, and to begin a wait is to ask it: what came before is looked for.
        """
        token = trio.lowlevel.current_trio_token()
        while True:
            with trio.CancelScope() as waiting:
                token.run_sync_soon(self._look_back, waiting)  # soon is when the wait below has begun
                await trio.lowlevel.wait_readable(self._changes.fileno())
            self._changes.poll(0)
            if changed := self._reread():
                return changed

    def close(self) -> None:
        """Free the descriptors."""
        trio.lowlevel.notify_closing(self._changes.fileno())
        self._opened.close()

    def _look_back(self, waiting: trio.CancelScope) -> None:
        if not self._file.closed and self._read() != self._lines:
            waiting.cancel()

    def _read(self) -> frozenset[bytes]:
        self._file.seek(0)
        return frozenset(self._file.readall().splitlines())

    def _reread(self) -> frozenset[bytes]:
        lines = self._read()
        changed = frozenset(_point(line) for line in lines ^ self._lines)
        self._lines = lines
        self._types = dict(map(_device_and_type, lines))
        self.points = frozenset(map(_point, lines))
        return changed


# 36 35 98:0 /root/in/it /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw


def _device_and_type(line: bytes) -> tuple[int, str]:
    major, minor = line.split(b" ", 3)[2].split(b":")
    return os.makedev(int(major), int(minor)), line.partition(b" - ")[2].split(b" ", 1)[0].decode()


def _point(line: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda octal: bytes((int(octal[1], 8),)), line.split(b" ", 5)[4])
