"""Watches links, addresses and routes by the kernel's notifications: one socket a network namespace."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import cast

import trio

from reactor import Watch, Watcher, WatchSink
from reactor.watchers.mounts import MountTable
from reactor.watchers.netlink_listener import NetlinkListener
from reactor.watchers.netlink_socket import NAMESPACES
from reactor.watchers.netlink_topics import WatchedTopic


@dataclass(frozen=True, slots=True)
class NetlinkWatch(Watch):
    """One subject in the network namespace of that name, or with None in the one of this process."""

    netns: str | None
    watched_topic: WatchedTopic


class NetlinkWatcher(Watcher):
    """Hears of every change that the kernel announces, and of namespaces that come and go.

    Namespaces are those of `ip netns`: mounts below `/run/netns`.
    """

    serves = NetlinkWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._listeners: dict[str | None, NetlinkListener] = {}
        self._mounts: MountTable | None = None
        self._tasks, self._new_tasks = trio.open_memory_channel[Callable[[], Awaitable[None]]](float("inf"))

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a NetlinkWatch."""
        netns, watched_topic = cast("NetlinkWatch", watch).netns, cast("NetlinkWatch", watch).watched_topic
        if netns is not None and self._mounts is None:
            self._mounts = MountTable()
            self._tasks.send_nowait(partial(self._mounts.follow, self._on_mounts))
        listener = self._listeners.get(netns)
        if listener is None:
            listener = self._listeners[netns] = NetlinkListener(netns, self.sink)
            self._tasks.send_nowait(listener.hear)
        listener.add(watched_topic, vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Listen for a NetlinkWatch no longer."""
        netns, watched_topic = cast("NetlinkWatch", watch).netns, cast("NetlinkWatch", watch).watched_topic
        self._listeners[netns].discard(watched_topic, vertex)

    async def run(self) -> None:
        """Mark what the kernel tells of, until cancelled."""
        async with trio.open_nursery() as nursery:
            async for task in self._new_tasks:
                nursery.start_soon(task)

    def close(self) -> None:
        """Free the descriptors."""
        for listener in self._listeners.values():
            listener.close()

    def _on_mounts(self, points: Iterable[bytes]) -> None:
        for point in points:
            directory, _, name = os.fsdecode(point).rpartition("/")
            if directory == NAMESPACES and name in self._listeners:
                self._listeners[name].reopen()
