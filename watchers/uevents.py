"""Watches block devices by the kernel's uevents: they appear, disappear, grow, or get another medium."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass
from typing import Final, cast

import trio

from reactor import Watch, Watcher, WatchSink, WatchState
from reactor.watchers.netlink_socket import enlarge_receive_buffer

_FAMILY: Final = 15
"""NETLINK_KOBJECT_UEVENT."""
_GROUP: Final = 1
"""The multicast group of the kernel. Group 2 is that of udev, which repeats the events."""
_READ_SIZE: Final = 16 * 1024
"""Longer than any event: its environment has 2 KiB."""
_READS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class DeviceWatch(Watch):
    """Any event of the block device at ``path``, which may be a symlink to it, and need not exist yet."""

    path: str


class DeviceWatcher(Watcher):
    """Marks vertices when the kernel announces a change of their device. One socket serves all devices."""

    serves = DeviceWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._vertices: dict[str, dict[int, None]] = {}
        self._socket: socket.socket | None = None
        self._opened = trio.Event()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a DeviceWatch. If the kernel does not allow it, that is reported."""
        self._vertices.setdefault(cast("DeviceWatch", watch).path, {})[vertex] = None
        if self._socket is None:
            try:
                self._socket = _open()
            except OSError as error:
                reason = f"the kernel does not announce changes of devices ({error.strerror}); only the audit will notice that one grows"
                self.sink.report(WatchState.DOWN, reason, vertex)
                return
            self._opened.set()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a DeviceWatch."""
        path = cast("DeviceWatch", watch).path
        vertices = self._vertices.get(path, {})
        vertices.pop(vertex, None)
        if not vertices:
            self._vertices.pop(path, None)

    async def run(self) -> None:
        """Mark the vertices of changed devices, until cancelled. Raises OSError when the socket is dead."""
        await self._opened.wait()
        await self.sink.follow(self._wait, self._read)

    def close(self) -> None:
        """Free the descriptor."""
        if self._socket is not None:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            self._socket = None

    async def _wait(self) -> None:
        await trio.lowlevel.wait_readable(cast("socket.socket", self._socket))

    def _read(self) -> None:
        changed: set[str] = set()
        try:
            for _ in range(_READS_AT_ONCE):
                device = device_of(cast("socket.socket", self._socket).recv(_READ_SIZE))
                if device is not None:
                    changed.add(device)
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            self.sink.mark_all("the netlink buffer of devices overflowed, notifications were lost")
        if not changed:
            return
        for path, vertices in self._vertices.items():
            if path in changed or os.path.realpath(path) in changed:
                for vertex in vertices:
                    self.sink.mark(vertex)


def device_of(message: bytes) -> str | None:
    """The path of the block device that an event is about; None if it is about something else."""
    fields = dict(part.partition(b"=")[::2] for part in message.split(b"\0"))
    name = fields.get(b"DEVNAME")
    if fields.get(b"SUBSYSTEM") != b"block" or not name:
        return None
    return os.path.join("/dev", os.fsdecode(name))


def _open() -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    opened = socket.socket(socket.AF_NETLINK, kind, _FAMILY)
    try:
        enlarge_receive_buffer(opened)
        opened.bind((0, _GROUP))
    except BaseException:
        opened.close()
        raise
    return opened
