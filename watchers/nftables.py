"""Watches tables of nftables by the notifications of the kernel."""

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass
from typing import Final, cast

import trio

from reactor import Watch, Watcher, WatchSink, WatchState
from reactor.watchers.netlink_socket import (
    NETLINK_ADD_MEMBERSHIP,
    READ_SIZE,
    SOL_NETLINK,
    Frame,
    attributes,
    enlarge_receive_buffer,
    open_here,
    unpack,
)

NETLINK_NETFILTER: Final = 12
SUBSYSTEM: Final = 10
"""The upper byte of the type of each message of nftables."""
GENERATION: Final = struct.Struct("=BBH")
"""The fixed part of each message (struct nfgenmsg): family, version, resource."""
_GROUP: Final = 7
"""The multicast group in which the kernel announces each change (NFNLGRP_NFTABLES)."""
_TABLE: Final = 1
"""The attribute with the name of the table, the same number in the messages of tables, chains, rules and sets."""
_NEW_GENERATION: Final = 15
READS_AT_ONCE: Final = 32
"""Reads before the vertices are marked: the messages of one transaction should cause one check."""


@dataclass(frozen=True, slots=True)
class NftablesWatch(Watch):
    """Any change of one table of nftables, in the network namespace of this process. ``family`` is that of nft, as a number."""

    family: int
    table: str


class NftablesWatcher(Watcher):
    """Marks vertices when the kernel announces a change of their table. One socket serves all tables."""

    serves = NftablesWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._vertices: dict[NftablesWatch, dict[int, None]] = {}
        self._socket: socket.socket | None = None
        self._opened = trio.Event()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for an NftablesWatch. If the kernel does not allow it, that is reported."""
        self._vertices.setdefault(cast("NftablesWatch", watch), {})[vertex] = None
        if self._socket is None:
            try:
                self._socket = _open()
            except OSError as error:
                reason = f"the kernel does not announce changes of nftables ({error.strerror}); only the audit will notice drift"
                self.sink.report(WatchState.DOWN, reason, vertex)
                return
            self._opened.set()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for an NftablesWatch."""
        self._vertices.get(cast("NftablesWatch", watch), {}).pop(vertex, None)

    async def run(self) -> None:
        """Mark the vertices of changed tables, until cancelled. Raises OSError when the socket is dead."""
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
        marks: dict[int, None] = {}
        try:
            for _ in range(READS_AT_ONCE):
                for frame in unpack(cast("socket.socket", self._socket).recv(READ_SIZE)):
                    if (changed := table_of(frame)) is not None:
                        marks.update(self._vertices.get(changed, ()))
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            self.sink.mark_all("the netlink buffer of nftables overflowed, notifications were lost")
        for vertex in marks:
            self.sink.mark(vertex)


def table_of(frame: Frame) -> NftablesWatch | None:
    """The table that a notification is about; None for one that is about no table."""
    if frame.type >> 8 != SUBSYSTEM or frame.type & 0xFF == _NEW_GENERATION:
        return None
    family, _, _ = GENERATION.unpack_from(frame.body)
    for kind, value in attributes(frame.body, GENERATION.size):
        if kind == _TABLE:
            return NftablesWatch(family, value.rstrip(b"\0").decode(errors="surrogateescape"))
    return None


def _open() -> socket.socket:
    """A socket that gets all notifications, with a buffer for thousands of them as far as this process may have it."""
    opened = open_here(NETLINK_NETFILTER)
    try:
        enlarge_receive_buffer(opened)
        opened.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, _GROUP)
    except BaseException:
        opened.close()
        raise
    return opened
