"""Watches links, addresses and routes by the kernel's notifications, with one socket for each network namespace."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import cast

import trio

from reactor import Watch, Watcher, WatchSink, WatchState
from reactor.watchers.mounts import MountTable
from reactor.watchers.netlink_socket import (
    NAMESPACES,
    NETLINK_ADD_MEMBERSHIP,
    READ_SIZE,
    SOL_NETLINK,
    enlarge_receive_buffer,
    open_socket,
    socket_pool,
    unpack,
)
from reactor.watchers.netlink_topics import LinkNames, Topic, WatchedTopic

READS_AT_ONCE = 32
"""Reads before the vertices are marked. One change of a link causes four or five messages, but should cause one
check."""


@dataclass(frozen=True, slots=True)
class NetlinkWatch(Watch):
    """One topic in the network namespace ``netns``; None is the namespace of this process."""

    netns: str | None
    watched_topic: WatchedTopic


class NetlinkWatcher(Watcher):
    """Watches the changes that the kernel announces, in namespaces that may be created and deleted at any time.

    The namespaces are those of `ip netns`: mounts below `/run/netns`.
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
            self._tasks.send_nowait(listener.listen)
        listener.add(watched_topic, vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a NetlinkWatch."""
        netns, watched_topic = cast("NetlinkWatch", watch).netns, cast("NetlinkWatch", watch).watched_topic
        self._listeners[netns].discard(watched_topic, vertex)

    async def run(self) -> None:
        """Mark the vertices of announced changes, until cancelled."""
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


class NetlinkListener:
    """Marks vertices by the notifications of one namespace.

    The namespace need not exist yet, and may be deleted and created again.

    The socket keeps the namespace alive, so it is closed as soon as the namespace's name is deleted.
    """

    def __init__(self, netns: str | None, sink: WatchSink) -> None:
        self.netns = netns
        self._sink = sink
        self._listeners: dict[WatchedTopic, dict[int, None]] = {}
        self._names = LinkNames()
        self._socket: socket.socket | None = None
        self._opened = trio.Event()
        self._problem = ""
        self._reported: set[int] = set()

    # ---- the listeners ----

    def add(self, watched_topic: WatchedTopic, vertex: int) -> None:
        """Mark ``vertex`` whenever the kernel announces a change of ``watched_topic``."""
        self._listeners.setdefault(watched_topic, {})[vertex] = None
        if self._socket is None:
            self._open()
        if self._socket is not None:
            _join_groups(self._socket, watched_topic.topic)
        else:
            self._report_problem((vertex,))

    def discard(self, watched_topic: WatchedTopic, vertex: int) -> None:
        """Stop marking ``vertex``. Without any vertex, the socket is closed, so that the namespace can be freed."""
        vertices = self._listeners.get(watched_topic, {})
        vertices.pop(vertex, None)
        if not vertices:
            self._listeners.pop(watched_topic, None)
        self._reported.discard(vertex)
        if not self._listeners:
            self.close()

    # ---- the socket ----

    def reopen(self) -> None:
        """Follow the name to another namespace (it was created, deleted or replaced), and mark all vertices."""
        self.close()
        vertices = dict.fromkeys(vertex for listeners in self._listeners.values() for vertex in listeners)
        if vertices:
            self._open()
        if self._socket is None:
            self._report_problem(vertices)
        else:
            self._report_recovery()
        for vertex in vertices:
            self._sink.mark(vertex)

    def close(self) -> None:
        """Free the socket; `listen` waits for the next one."""
        if self._socket is not None:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            self._socket = None
            self._opened = trio.Event()
            socket_pool.forbid(self.netns)

    def _open(self) -> None:
        try:
            opened = open_socket(self.netns)
        except (FileNotFoundError, PermissionError) as error:
            self._problem = f"the network namespace {self.netns} can't be watched: {error.strerror}"
            return
        try:
            enlarge_receive_buffer(opened)
            _join_groups(opened, Topic.LINK)  # always needed, to keep the names of the links up to date
            for watched_topic in self._listeners:
                _join_groups(opened, watched_topic.topic)
            self._names.load(self.netns)
        except BaseException:
            opened.close()
            raise
        self._socket = opened
        self._opened.set()
        socket_pool.allow(self.netns)

    async def listen(self) -> None:
        """Mark the vertices of announced changes, until cancelled. Raises OSError when the socket is dead."""
        await self._sink.follow(self._wait, self._read)

    async def _wait(self) -> None:
        while True:
            await self._opened.wait()
            with suppress(trio.ClosedResourceError):  # another socket may be opened later
                if self._socket is not None:
                    await trio.lowlevel.wait_readable(self._socket)
                    return

    def _read(self) -> None:
        """Read the waiting messages. Marks each vertex once, however many of them concern it."""
        marks: dict[int, None] = {}
        if (readable := self._socket) is None:
            return
        try:
            for _ in range(READS_AT_ONCE):
                for frame in unpack(readable.recv(READ_SIZE)):
                    for watched_topic in self._names.subjects(frame):
                        marks.update(self._listeners.get(watched_topic, ()))
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            self._recover()
        for vertex in marks:
            self._sink.mark(vertex)

    def _recover(self) -> None:
        where = "" if self.netns is None else f" of the network namespace {self.netns}"
        self._sink.mark_all(f"the netlink buffer{where} overflowed")
        self._names.load(self.netns)

    def _report_problem(self, vertices: Iterable[int]) -> None:
        for vertex in vertices:
            if vertex not in self._reported:
                self._sink.report(WatchState.DEGRADED, self._problem, vertex)
                self._reported.add(vertex)

    def _report_recovery(self) -> None:
        for vertex in self._reported:
            reason = f"the network namespace {self.netns} is there and watched"
            self._sink.report(WatchState.ARMED, reason, vertex)
        self._reported.clear()


def _join_groups(opened: socket.socket, topic: Topic) -> None:
    """Subscribe to a topic. Groups without a listener, such as a router's routes, never wake this process."""
    for group in topic.groups:
        opened.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
