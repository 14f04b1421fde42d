"""Watches links, addresses and routes by the kernel's notifications: one socket a network namespace."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import cast

import trio

from reactor import Watch, Watcher, WatchSink
from watchers.mounts import MountTable
from watchers.netlink_ear import Ear
from watchers.netlink_socket import NAMESPACES
from watchers.netlink_subjects import Subject


@dataclass(frozen=True, slots=True)
class NetlinkWatch(Watch):
    """One subject in the network namespace of that name, or with None in the one of this process."""

    netns: str | None
    subject: Subject


class NetlinkWatcher(Watcher):
    """Hears of every change that the kernel announces, and of namespaces that come and go.

    Namespaces are those of `ip netns`: mounts below `/run/netns`.
    """

    serves = NetlinkWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._ears: dict[str | None, Ear] = {}
        self._mounts: MountTable | None = None
        self._tasks, self._new_tasks = trio.open_memory_channel[Callable[[], Awaitable[None]]](float("inf"))

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a NetlinkWatch."""
        netns, subject = cast("NetlinkWatch", watch).netns, cast("NetlinkWatch", watch).subject
        if netns is not None and self._mounts is None:
            self._mounts = MountTable()
            self._tasks.send_nowait(partial(self._mounts.follow, self._hear_of_mounts))
        ear = self._ears.get(netns)
        if ear is None:
            ear = self._ears[netns] = Ear(netns, self.sink)
            self._tasks.send_nowait(ear.hear)
        ear.add(subject, vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Listen for a NetlinkWatch no longer."""
        netns, subject = cast("NetlinkWatch", watch).netns, cast("NetlinkWatch", watch).subject
        self._ears[netns].discard(subject, vertex)

    async def run(self) -> None:
        """Mark what the kernel tells of, until cancelled."""
        async with trio.open_nursery() as nursery:
            async for task in self._new_tasks:
                nursery.start_soon(task)

    def close(self) -> None:
        """Free the descriptors."""
        for ear in self._ears.values():
            ear.close()

    def _hear_of_mounts(self, points: Iterable[bytes]) -> None:
        for point in points:
            directory, _, name = os.fsdecode(point).rpartition("/")
            if directory == NAMESPACES and name in self._ears:
                self._ears[name].reopen()
