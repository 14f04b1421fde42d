"""Removes an IPv4 address without those beside it.

The kernel takes the first address of a network on a link for its primary one, and drops the others (the secondary
addresses) together with it, unless the link promotes them (`promote_secondaries` of net.ipv4.conf, 0 by default). Then they
stay as they are, with their lifetimes, labels and routes. So a link promotes for the moment of a removal.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

from reactor.resources.network.addresses import FoundAddress
from reactor.resources.network.rtnetlink import RtnetlinkSocket, message
from reactor.watchers.netlink_socket import Frame, attributes, pack_attribute
from reactor.watchers.netlink_topics import RTM_DELADDR, RTM_GETLINK, RTM_NEWLINK

_LINK_SIZE: Final = 16
_IFLA_AF_SPEC, _IFLA_INET_CONF = 26, 1
_PROMOTE_SECONDARIES = 20
_NUMBER: Final = struct.Struct("=i")


async def remove_alone(kernel: RtnetlinkSocket, index: int, address: FoundAddress, *, beside: bool) -> None:
    """Remove ``address`` of the link of that number, and no other. ``beside``: it has secondary addresses.

    The link is set to promote first, so that a kernel that can't do so says it before anything is lost. The removal and the
    setting as it was go in one send, which the kernel carries out as a whole, even if we are killed. Raises OSError as
    the kernel does.
    """
    removal = Frame(RTM_DELADDR, 0, 0, address.body)
    if not beside or await _promotes(kernel, index):
        await kernel.change(removal)
        return
    await kernel.change(_setting(index, 1))
    await kernel.change_together(removal, _setting(index, 0))


async def _promotes(kernel: RtnetlinkSocket, index: int) -> bool:
    """Whether the link itself is set to promote."""
    answer = await kernel.ask(message(RTM_GETLINK, index=index))
    value, at = answer.body, _LINK_SIZE
    for kind in (_IFLA_AF_SPEC, socket.AF_INET, _IFLA_INET_CONF):
        value, at = dict(attributes(value, at)).get(kind, b""), 0
    # An array of numbers, the first for the setting 1.
    at = (_PROMOTE_SECONDARIES - 1) * _NUMBER.size
    return len(value) >= at + _NUMBER.size and bool(_NUMBER.unpack_from(value, at)[0])


def _setting(index: int, value: int) -> Frame:
    """The request that has the link promote, or not. pyroute2 can only read these settings."""
    request = message(RTM_NEWLINK, index=index)
    setting = pack_attribute(_PROMOTE_SECONDARIES, _NUMBER.pack(value))
    for kind in (_IFLA_INET_CONF, socket.AF_INET, _IFLA_AF_SPEC):
        setting = pack_attribute(kind, setting)
    return request._replace(body=request.body + setting)
