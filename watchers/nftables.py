"""Watches tables of nftables by the notifications of the kernel."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from reactor import Watch
from reactor.watchers.kernel_announcements import AnnouncementWatcher
from reactor.watchers.netlink_socket import (
    NETLINK_ADD_MEMBERSHIP,
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


@dataclass(frozen=True, slots=True)
class NftablesWatch(Watch):
    """Any change of one table of nftables, in the network namespace of this process. ``family`` is that of nft, as a number."""

    family: int
    table: str


class NftablesWatcher(AnnouncementWatcher):
    """Marks vertices when the kernel announces a change of their table. One socket serves all tables."""

    serves = NftablesWatch
    about = "nftables"

    def listen(self) -> socket.socket:
        """A socket for all notifications, with a buffer for thousands of them as far as this process may have it."""
        opened = open_here(NETLINK_NETFILTER)
        try:
            enlarge_receive_buffer(opened)
            opened.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, _GROUP)
        except BaseException:
            opened.close()
            raise
        return opened

    def subject_of(self, watch: Watch) -> NftablesWatch:
        """The watch itself: it names a table."""
        return cast("NftablesWatch", watch)

    def changed_in(self, message: bytes) -> Iterable[NftablesWatch]:
        """The tables that the frames of the message are about."""
        return [table for frame in unpack(message) if (table := table_of(frame)) is not None]


def table_of(frame: Frame) -> NftablesWatch | None:
    """The table that a notification is about; None for one that is about no table."""
    if frame.type >> 8 != SUBSYSTEM or frame.type & 0xFF == _NEW_GENERATION:
        return None
    family, _, _ = GENERATION.unpack_from(frame.body)
    for kind, value in attributes(frame.body, GENERATION.size):
        if kind == _TABLE:
            return NftablesWatch(family, value.rstrip(b"\0").decode(errors="surrogateescape"))
    return None
