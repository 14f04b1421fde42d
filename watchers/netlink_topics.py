"""Finds the links, addresses and routes that a notification of the kernel is about."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from reactor.watchers.netlink_socket import (
    NLM_F_DUMP,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    READ_SIZE,
    Frame,
    attributes,
    open_socket,
    pack,
    unpack,
)

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWADDR, RTM_DELADDR = 20, 21
RTM_NEWROUTE, RTM_DELROUTE = 24, 25
RTM_DELNEXTHOP = 105

_LINK = struct.Struct("=BxHiII")  # family, type, index, flags, changed flags
_ADDRESS = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, index
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, lengths of destination and source, tos, table, ...
_IFLA_IFNAME, _IFLA_EXT_MASK = 3, 29
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_TABLE = 1, 15
_SKIP_STATISTICS = 1 << 3
_LENGTHS = {socket.AF_INET: 4, socket.AF_INET6: 16}

ANY_LINK = ""


class Topic(Enum):
    """The subjects that can be watched. The values are the multicast groups in which the kernel announces them."""

    LINK = ("link", 1)
    """Anything about the link of that name, or about any link."""
    PRESENCE = ("presence", 1)
    """The link of that name was created, deleted or replaced."""
    ADDRESS = ("address", 5, 9)
    """The IP address was added or removed, on any link."""
    ADDRESSES = ("addresses", 5, 9)
    """Any address of the link of that name, or of any link."""
    ROUTE = ("route", 7, 11)
    """Any route to the destination in the table."""
    NEXTHOPS = ("nexthops", 32)
    """A nexthop object was deleted, on any link: IPv4 routes that use it go with it, without an announcement."""
    IPV6 = ("ipv6", 12)
    """IPv6 was enabled or disabled on the link of that name, or on any link."""

    def __init__(self, _: str, *groups: int) -> None:
        self.groups = groups
        """The groups, one for IPv4 and one for IPv6 if they differ."""


class WatchedTopic(NamedTuple):
    """One link, address or route to watch. ``key`` is the name of a link, or is built by one of the methods."""

    topic: Topic
    key: str

    @classmethod
    def address(cls, packed: bytes) -> WatchedTopic:
        """The topic of the address with these bytes."""
        return cls(Topic.ADDRESS, packed.hex())

    @classmethod
    def route(cls, table: int, packed: bytes, prefix_length: int) -> WatchedTopic:
        """The topic of every route to that network in the table, whatever its metric."""
        return cls(Topic.ROUTE, f"{table} {packed.hex()}/{prefix_length}")


class LinkNames:
    """The names of the links of one namespace, kept up to date by its notifications.

    A renamed link is announced under its new name only, and addresses name their link by number.
    """

    def __init__(self) -> None:
        self._by_index: dict[int, str] = {}

    def load(self, netns: str | None) -> None:
        """Read all names again. Raises OSError when the kernel does not answer."""
        fixed = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        body = fixed + struct.pack("=HHI", 8, _IFLA_EXT_MASK, _SKIP_STATISTICS)
        self._by_index.clear()
        with open_socket(netns) as asking:
            asking.setblocking(True)  # the answer is available as soon as the request is sent
            asking.send(pack(Frame(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, body)))
            while True:
                for frame in unpack(asking.recv(READ_SIZE)):
                    if frame.type in (NLMSG_DONE, NLMSG_ERROR):
                        return
                    index, name = index_and_name(frame)
                    self._by_index[index] = name

    def subjects(self, frame: Frame) -> Iterator[WatchedTopic]:
        """The topics of this namespace that the notification is about."""
        if frame.type in (RTM_NEWLINK, RTM_DELLINK):
            yield from _of_ipv6(frame) if frame.body[0] == socket.AF_INET6 else self._of_link(frame)
        elif frame.type in (RTM_NEWADDR, RTM_DELADDR):
            yield from self._of_address(frame)
        elif frame.type in (RTM_NEWROUTE, RTM_DELROUTE):
            yield _of_route(frame)
        elif frame.type == RTM_DELNEXTHOP:
            yield WatchedTopic(Topic.NEXTHOPS, ANY_LINK)

    def _of_link(self, frame: Frame) -> Iterator[WatchedTopic]:
        index, name = index_and_name(frame)
        known = self._by_index.get(index)
        # A port that leaves its bridge is announced as a deleted link, too, but of the bridge's family.
        is_gone = frame.type == RTM_DELLINK and frame.body[0] == socket.AF_UNSPEC
        if is_gone:
            self._by_index.pop(index, None)
        else:
            self._by_index[index] = name
        if is_gone or known != name:
            yield WatchedTopic(Topic.PRESENCE, name)
        if known is not None and known != name:
            yield WatchedTopic(Topic.PRESENCE, known)
            yield WatchedTopic(Topic.LINK, known)
        yield WatchedTopic(Topic.LINK, name)
        yield WatchedTopic(Topic.LINK, ANY_LINK)

    def _of_address(self, frame: Frame) -> Iterator[WatchedTopic]:
        _, _, _, _, index = _ADDRESS.unpack_from(frame.body)
        # Of a peer-to-peer address, LOCAL is our end and ADDRESS the other one; else they are the same.
        for packed in {
            value
            for kind, value in attributes(frame.body, _ADDRESS.size)
            if kind in (_IFA_ADDRESS, _IFA_LOCAL)
        }:
            yield WatchedTopic.address(packed)
        if index in self._by_index:
            yield WatchedTopic(Topic.ADDRESSES, self._by_index[index])
        yield WatchedTopic(Topic.ADDRESSES, ANY_LINK)


def index_and_name(frame: Frame) -> tuple[int, str]:
    """The index and the name of the link that a message is about."""
    _, _, index, _, _ = _LINK.unpack_from(frame.body)
    names = (value for kind, value in attributes(frame.body, _LINK.size) if kind == _IFLA_IFNAME)
    return index, next(names, b"").rstrip(b"\0").decode(errors="surrogateescape")


def _of_ipv6(frame: Frame) -> Iterator[WatchedTopic]:
    _, name = index_and_name(frame)
    yield WatchedTopic(Topic.IPV6, name)
    yield WatchedTopic(Topic.IPV6, ANY_LINK)


def _of_route(frame: Frame) -> WatchedTopic:
    family, prefix_length, _, _, table, *_ = _ROUTE.unpack_from(frame.body)
    found = dict(attributes(frame.body, _ROUTE.size))
    if _RTA_TABLE in found:  # the byte in the fixed part is too small for most
        (table,) = struct.unpack("=I", found[_RTA_TABLE])
    return WatchedTopic.route(table, found.get(_RTA_DST, bytes(_LENGTHS.get(family, 0))), prefix_length)
