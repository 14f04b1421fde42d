"""Looks up links by name or index."""

from __future__ import annotations

import errno
from functools import lru_cache
from typing import Any

from reactor import ResourceError
from reactor.resources.network.rtnetlink import RtnetlinkSocket, decoded, message
from reactor.watchers.netlink_socket import Frame
from reactor.watchers.netlink_topics import RTM_GETLINK, index_and_name

SMALLEST_MTU_OF_IPV6 = 1280
"""Bytes, by RFC 8200, section 5."""

COMES_BY_ITSELF = "add its type to create it; a link that appears by itself is awaited. See: ip link"
"""The hint for a managed link that does not exist, and has no type."""


async def find_link(kernel: RtnetlinkSocket, which: str | int) -> Any:
    """The link with this name or index, in the form of pyroute2; None if there is none."""
    frame = await _find(kernel, which)
    return None if frame is None else decoded(frame)


async def find_index(kernel: RtnetlinkSocket, name: str) -> int | None:
    """The index of the link with this name; None if there is none."""
    frame = await _find(kernel, name)
    return None if frame is None else index_and_name(frame)[0]


async def index_of(kernel: RtnetlinkSocket, name: str, hint: str | None = None) -> int:
    """The index of the link with this name. Raises ResourceError, with ``hint``, when there is none."""
    index = await find_index(kernel, name)
    if index is None:
        hint = hint or f"manage it as link#{name}, or see: ip link"
        raise ResourceError(f"there is no link {name}", hint)
    return index


async def name_of(kernel: RtnetlinkSocket, index: int | None) -> str | None:
    """The name of the link with this index; None if there is none."""
    frame = None if index is None else await _find(kernel, index)
    return None if frame is None else index_and_name(frame)[1]


async def check_ipv6_fits(kernel: RtnetlinkSocket, name: str) -> None:
    """Raise ResourceError if the MTU of the link is too small for IPv6: the kernel's own error gives no reason."""
    found = await find_link(kernel, name)
    if found is not None and (mtu := found.get_attr("IFLA_MTU")) < SMALLEST_MTU_OF_IPV6:
        words = f"{name} has no IPv6: its mtu is {mtu}, and IPv6 needs {SMALLEST_MTU_OF_IPV6}"
        raise ResourceError(words, f"raise it: ip link set {name} mtu {SMALLEST_MTU_OF_IPV6}")


async def _find(kernel: RtnetlinkSocket, which: str | int) -> Frame | None:
    """Find the link.

    Alternative names, which the kernel also finds, are refused: its events contain only the real name.
    """
    try:
        frame = await kernel.ask(_question(which))
    except OSError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    index, name = index_and_name(frame)
    if which not in (index, name):
        raise ResourceError(f"{which} is an alternative name of the link {name}", f"write {name}")
    return frame


@lru_cache(maxsize=1024)
def _question(which: str | int) -> Frame:
    without_statistics = ("IFLA_EXT_MASK", 1 << 3)
    if isinstance(which, int):
        return message(RTM_GETLINK, [without_statistics], index=which)
    return message(RTM_GETLINK, [("IFLA_IFNAME", which), without_statistics])
