"""The routes that have an address of this host as their source: IPv6 keeps them, but takes that from them with the address."""

from __future__ import annotations

from collections.abc import Sequence

from reactor.resources.network.route_entries import RouteEntry, all_routes
from reactor.resources.network.rtnetlink import NLM_F_CREATE, NLM_F_REPLACE, RtnetlinkSocket
from reactor.watchers.netlink_socket import Frame
from reactor.watchers.netlink_topics import RTM_NEWROUTE


async def routes_from(kernel: RtnetlinkSocket, family: int, packed: bytes) -> list[RouteEntry]:
    """Those from the address of these bytes. Raises OSError as the kernel does."""
    return [route for route in await all_routes(kernel, family) if route.source == packed]


async def set_source_again(kernel: RtnetlinkSocket, routes: Sequence[RouteEntry]) -> None:
    """Have ``routes`` as they were found. Raises OSError as the kernel does."""
    for route in routes:
        await kernel.change(Frame(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, 0, route.frame.body))
