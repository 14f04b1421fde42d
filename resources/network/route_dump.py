"""Reads all entries of the routing tables, with their links and sources, without pyroute2: there may be a million."""

from __future__ import annotations

import ipaddress
import struct
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from reactor.resources.network.routing_table import MAIN_TABLE, found_route
from reactor.resources.network.rtnetlink import NLM_F_CREATE, NLM_F_REPLACE, RtnetlinkSocket, message
from reactor.watchers.netlink_socket import Frame, attributes
from reactor.watchers.netlink_topics import RTM_NEWROUTE

_RTM_GETROUTE: Final = 26
_LOCAL_TABLE, _RTPROT_KERNEL, _RTM_F_CLONED = 255, 2, 0x200
_FIXED_SIZE: Final = 12
_RTA_DST, _RTA_OIF, _RTA_PREFSRC, _RTA_MULTIPATH, _RTA_TABLE = 1, 4, 7, 9, 15
_NEXTHOP: Final = struct.Struct("=HBBi")


class RouteEntry(NamedTuple):
    """An entry that the kernel did not add itself.

    ``links``: the indexes of its links; ``source``: its source address.
    """

    frame: Frame
    table: int
    links: frozenset[int]
    source: bytes | None

    @property
    def is_default(self) -> bool:
        """Whether it is a default route of the main table."""
        return self.frame.body[1] == 0 and self.table == MAIN_TABLE

    def goes_only_through(self, links: Collection[int]) -> bool:
        """Whether all its links are among these."""
        return bool(self.links) and self.links <= set(links)

    async def in_words(self, kernel: RtnetlinkSocket) -> str:
        """The entry for messages: its destination, its next hops, and its table unless that is the main one."""
        length = self.frame.body[1]
        packed = dict(attributes(self.frame.body, _FIXED_SIZE)).get(_RTA_DST, b"")
        destination = f"{ipaddress.ip_address(packed)}/{length}" if length else "default"
        table = "" if self.table == MAIN_TABLE else f" in table {self.table}"
        return f"{destination} {await found_route(kernel, self.frame)}{table}"


async def all_routes(kernel: RtnetlinkSocket, family: int) -> list[RouteEntry]:
    """The entries of all tables, except those that the kernel adds itself.

    Raises OSError for an error of the kernel.
    """
    frames = await kernel.dump(message(_RTM_GETROUTE, family=family))
    return [entry for entry in map(_entry, frames) if _is_added(entry)]


def _entry(frame: Frame) -> RouteEntry:
    found = dict(attributes(frame.body, _FIXED_SIZE))
    links = [int.from_bytes(found[_RTA_OIF], sys.byteorder)] if _RTA_OIF in found else []
    links += _links_of(found.get(_RTA_MULTIPATH, b""))
    table = int.from_bytes(found[_RTA_TABLE], sys.byteorder)
    return RouteEntry(frame, table, frozenset(links), found.get(_RTA_PREFSRC))


def _links_of(several: bytes) -> Iterator[int]:
    at = 0
    while at + _NEXTHOP.size <= len(several):
        length, _, _, number = _NEXTHOP.unpack_from(several, at)
        yield number
        at += max((length + 3) & ~3, _NEXTHOP.size)


def _is_added(entry: RouteEntry) -> bool:
    flags = int.from_bytes(entry.frame.body[8:12], sys.byteorder)
    is_made = entry.frame.body[5] == _RTPROT_KERNEL or entry.table == _LOCAL_TABLE
    return not is_made and not flags & _RTM_F_CLONED


async def routes_from(kernel: RtnetlinkSocket, family: int, packed: bytes) -> list[RouteEntry]:
    """The routes with this source address, in bytes. Raises OSError for an error of the kernel."""
    return [route for route in await all_routes(kernel, family) if route.source == packed]


async def set_source_again(kernel: RtnetlinkSocket, routes: Sequence[RouteEntry]) -> None:
    """Set ``routes`` as they were found, with their source. Raises OSError for an error of the kernel."""
    for route in routes:
        await kernel.change(Frame(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, 0, route.frame.body))
