"""Watches block devices by the kernel's uevents: they appear, disappear, grow, or get another medium."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, cast

from reactor import Watch
from reactor.watchers.kernel_announcements import AnnouncementWatcher
from reactor.watchers.netlink_socket import enlarge_receive_buffer

_FAMILY: Final = 15
"""NETLINK_KOBJECT_UEVENT."""
_GROUP: Final = 1
"""The multicast group of the kernel. Group 2 is that of udev, which repeats the events."""


@dataclass(frozen=True, slots=True)
class DeviceWatch(Watch):
    """Any event of the block device at ``path``, which may be a symlink to it, and need not exist yet."""

    path: str


class DeviceWatcher(AnnouncementWatcher):
    """Marks vertices when the kernel announces a change of their device. One socket serves all devices."""

    serves = DeviceWatch
    about = "devices"
    unheard = "that one grows"

    def listen(self) -> socket.socket:
        """A socket for the events of all devices."""
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        opened = socket.socket(socket.AF_NETLINK, kind, _FAMILY)
        try:
            enlarge_receive_buffer(opened)
            opened.bind((0, _GROUP))
        except BaseException:
            opened.close()
            raise
        return opened

    def subject_of(self, watch: Watch) -> str:
        """The path of the watch."""
        return cast("DeviceWatch", watch).path

    def changed_in(self, message: bytes) -> Iterable[str]:
        """The path of the device, if the message is about a block device."""
        device = device_of(message)
        return () if device is None else (device,)

    def subjects_among(self, changed: Collection[Hashable]) -> Iterable[Hashable]:
        """The watched paths that are, or now lead to, one of the changed devices."""
        paths = cast("Iterable[str]", self._vertices)
        return [path for path in paths if path in changed or os.path.realpath(path) in changed]


def device_of(message: bytes) -> str | None:
    """The path of the block device that an event is about; None if it is about something else."""
    fields = dict(part.partition(b"=")[::2] for part in message.split(b"\0"))
    name = fields.get(b"DEVNAME")
    if fields.get(b"SUBSYSTEM") != b"block" or not name:
        return None
    return os.path.join("/dev", os.fsdecode(name))
