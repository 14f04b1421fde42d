"""Reads and removes the addresses of a link."""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from reactor.resources.network.rtnetlink import RtnetlinkSocket, message
from reactor.watchers.netlink_socket import Frame, attributes, pack_attribute
from reactor.watchers.netlink_topics import RTM_DELADDR, RTM_GETLINK, RTM_NEWLINK

_RTM_GETADDR = 22
_FIXED_SIZE = 8
_IFA_ADDRESS, _IFA_LOCAL, _IFA_LABEL, _IFA_CACHEINFO, _IFA_FLAGS, _IFA_RT_PRIORITY, _IFA_PROTO = (
    1,
    2,
    3,
    6,
    8,
    9,
    11,
)
_IFA_F_SECONDARY, _IFA_F_NODAD, _IFA_F_DADFAILED = 0x01, 0x02, 0x08
_KEPT_FLAGS: Final = _IFA_F_NODAD | 0x10 | 0x100 | 0x200 | 0x400
"""The flags that a new address may have: nodad, home, mngtmpaddr, noprefixroute, mcautojoin."""
_LIFETIMES: Final = struct.Struct("=II")
"""The preferred and the valid lifetime in seconds, at the start of a longer record."""
_LINK_SIZE: Final = 16
_IFLA_AF_SPEC, _IFLA_INET_CONF = 26, 1
_PROMOTE_SECONDARIES = 20
_NUMBER: Final = struct.Struct("=i")


class FoundAddress(NamedTuple):
    """An address of a link: its bytes, its prefix length, and the message body of the kernel."""

    packed: bytes
    prefix_length: int
    body: bytes

    @property
    def is_taken(self) -> bool:
        """Whether duplicate address detection (IPv6 only) found it on another host.

        Then the kernel does not use it.
        """
        return bool(self.body[2] & _IFA_F_DADFAILED)

    @property
    def scope(self) -> int:
        """The number of its scope."""
        return self.body[3]

    def secondaries(self, others: Iterable[FoundAddress]) -> list[FoundAddress]:
        """The secondary IPv4 addresses in ``others`` that the kernel drops with it, unless the link promotes them."""
        if self.body[0] != socket.AF_INET or self.body[2] & _IFA_F_SECONDARY:
            return []
        return [each for each in others if each.body[2] & _IFA_F_SECONDARY and each.network == self.network]

    def kept_attributes(self, *, nodad: bool) -> bytes:
        """The attributes for the same address with another prefix length: label, lifetimes, flags, metric, origin.

        ``nodad``: skip duplicate address detection.
        """
        found = dict(attributes(self.body, _FIXED_SIZE))
        flags = int.from_bytes(found.get(_IFA_FLAGS, b""), sys.byteorder) & _KEPT_FLAGS
        if nodad:
            flags |= _IFA_F_NODAD
        found[_IFA_FLAGS] = flags.to_bytes(4, sys.byteorder)
        kinds = [_IFA_LABEL, _IFA_FLAGS, _IFA_RT_PRIORITY, _IFA_PROTO]
        if _IFA_CACHEINFO in found and _LIFETIMES.unpack_from(found[_IFA_CACHEINFO])[1]:
            kinds.append(_IFA_CACHEINFO)
        return b"".join(pack_attribute(kind, found[kind]) for kind in kinds if kind in found)

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The network of the address; for a peer-to-peer address, that of the other end."""
        address = dict(attributes(self.body, _FIXED_SIZE))[_IFA_ADDRESS]
        return ipaddress.ip_network((address, self.prefix_length), strict=False)

    def __str__(self) -> str:
        """The address as in the output of `ip`."""
        return f"{socket.inet_ntop(self.body[0], self.packed)}/{self.prefix_length}"


async def addresses_of(
    kernel: RtnetlinkSocket, index: int, family: int = socket.AF_UNSPEC, holding: bytes = b""
) -> list[FoundAddress]:
    """The addresses of the link with this index, of one or both families, if their message contains ``holding``.

    Raises OSError for an error of the kernel.
    """
    return [_found(frame.body) for frame in await kernel.dump(_question(index, family), holding)]


@lru_cache(maxsize=1024)
def _question(index: int, family: int) -> Frame:
    return message(_RTM_GETADDR, family=family, index=index)


def _found(body: bytes) -> FoundAddress:
    found = dict(attributes(body, _FIXED_SIZE))
    # For a peer-to-peer address, LOCAL is this end; any other IPv6 address has only ADDRESS.
    return FoundAddress(found.get(_IFA_LOCAL) or found[_IFA_ADDRESS], body[1], body)


async def remove_alone(kernel: RtnetlinkSocket, index: int, address: FoundAddress, *, beside: bool) -> None:
    """Remove only ``address`` from the link with this index. ``beside``: whether it has secondary addresses.

    Normally the kernel drops secondary addresses too, so promote_secondaries is set first, which fails before anything
    is lost. The removal and the former setting are sent together: the kernel executes both, even if we are killed.
    Raises OSError for an error of the kernel.
    """
    removal = Frame(RTM_DELADDR, 0, 0, address.body)
    if not beside or await _promotes(kernel, index):
        await kernel.change(removal)
        return
    await kernel.change(_setting(index, 1))
    await kernel.change_together(removal, _setting(index, 0))


async def _promotes(kernel: RtnetlinkSocket, index: int) -> bool:
    """Whether promote_secondaries is set for the link itself."""
    answer = await kernel.ask(message(RTM_GETLINK, index=index))
    value, at = answer.body, _LINK_SIZE
    for kind in (_IFLA_AF_SPEC, socket.AF_INET, _IFLA_INET_CONF):
        value, at = dict(attributes(value, at)).get(kind, b""), 0
    # An array of numbers; the first is setting 1.
    at = (_PROMOTE_SECONDARIES - 1) * _NUMBER.size
    return len(value) >= at + _NUMBER.size and bool(_NUMBER.unpack_from(value, at)[0])


def _setting(index: int, value: int) -> Frame:
    """The request to set promote_secondaries of the link. pyroute2 can only read these settings."""
    request = message(RTM_NEWLINK, index=index)
    setting = pack_attribute(_PROMOTE_SECONDARIES, _NUMBER.pack(value))
    for kind in (_IFLA_INET_CONF, socket.AF_INET, _IFLA_AF_SPEC):
        setting = pack_attribute(kind, setting)
    return request._replace(body=request.body + setting)
