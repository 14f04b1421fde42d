"""Checks, for a dry run, that links, addresses and routes can be made. Nothing is changed."""

from __future__ import annotations

import errno
import ipaddress
import os

from reactor import ResourceError
from reactor.hostfs import effective_capabilities
from reactor.resources.network.link_observer import IFF_UP
from reactor.resources.network.link_properties import LinkProperties
from reactor.resources.network.link_requests import check_master, check_parent
from reactor.resources.network.link_state import LinkState
from reactor.resources.network.link_table import COMES_BY_ITSELF, find_index, find_link, index_of
from reactor.resources.network.property_types import FAMILIES, IPV4, IPV6, IPAddress, link_path
from reactor.resources.network.routing_table import MAIN_TABLE, RTM_GETROUTE, DesiredRoute
from reactor.resources.network.rtnetlink import (
    GATEWAY_HINT,
    LINK_DOWN_HINT,
    RtnetlinkSocket,
    decoded,
    explained,
    message,
)

_CAP_NET_ADMIN = 12
"""Its bit, see capabilities(7)."""
_RTN_UNICAST = 1
_RTN_LOCAL = 2
_RTM_F_FIB_MATCH = 0x2000


def refuse_unprivileged() -> None:
    """Raise the ResourceError with which every change of the network would fail, for lack of CAP_NET_ADMIN."""
    with explained("change the network"):
        if not effective_capabilities() >> _CAP_NET_ADMIN & 1:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))


async def refuse_link(wanted: LinkProperties, state: LinkState | None) -> None:
    """Raise the ResourceError with which creating or changing the link would fail."""
    if wanted.ensure == "absent":
        return
    others: list[tuple[str | None, str | None]] = [(wanted.master, None), (wanted.parent, None)]
    if state is None and wanted.type is None:
        others.append((wanted.interface, COMES_BY_ITSELF))
    with RtnetlinkSocket(wanted.netns) as kernel, explained(f"read the links of {wanted.interface}"):
        ResourceError.raise_all(
            [await _missing_link(kernel, wanted.netns, name, hint) for name, hint in others if name]
        )
        if state is None and wanted.peer is not None and await find_index(kernel, wanted.peer) is not None:
            words = f"there is a link {wanted.peer}, which is not the other end of a veth {wanted.interface}"
            raise ResourceError(words, f"remove or rename it first: ip link delete {wanted.peer}")
        if state is None or wanted.mtu not in (None, state.mtu):
            await check_parent(kernel, wanted)
        if state is None or wanted.master not in (None, state.master):
            await check_master(kernel, wanted)


async def refuse_address(netns: str | None, link: str) -> None:
    """Raise the ResourceError with which adding an address to ``link`` would fail."""
    with RtnetlinkSocket(netns) as kernel, explained(f"read the link {link}"):
        await _require_link(kernel, netns, link)


async def refuse_route(netns: str | None, wanted: DesiredRoute) -> None:
    """Raise the ResourceError with which adding the route would fail."""
    gateway, link = wanted.next_hop
    with RtnetlinkSocket(netns) as kernel, explained(f"look up the route to {wanted.network}"):
        index = None if link is None else await _require_link(kernel, netns, link)
        if link is not None:
            found = await find_link(kernel, link)
            if found is not None and not found["flags"] & IFF_UP:
                words = f"can't route {wanted.network} {wanted.next_hop}: the link {link} is down"
                raise ResourceError(words, LINK_DOWN_HINT)
        if gateway is not None and not await _is_in_network_of(kernel, gateway, wanted.table):
            await _require_neighbour(kernel, gateway, wanted, index)


async def _is_in_network_of(kernel: RtnetlinkSocket, gateway: IPAddress, table: int) -> bool:
    """Whether ``table``, which is not the main one, has the network of ``gateway``: the kernel looks there first."""
    if table == MAIN_TABLE:
        return False
    for frame in await kernel.dump(message(RTM_GETROUTE, family=FAMILIES[gateway.version])):
        route = decoded(frame)
        if route.get_attr("RTA_TABLE") == table and route.get_attr("RTA_GATEWAY") is None:
            network = f"{route.get_attr('RTA_DST') or gateway}/{route['dst_len']}"
            if gateway in ipaddress.ip_network(network, strict=False):
                return True
    return False


async def _missing_link(
    kernel: RtnetlinkSocket, netns: str | None, name: str, hint: str | None
) -> ResourceError | None:
    try:
        await _require_link(kernel, netns, name, hint)
    except ResourceError as error:
        return error
    return None


async def _require_link(
    kernel: RtnetlinkSocket, netns: str | None, name: str, hint: str | None = None
) -> int:
    try:
        return await index_of(kernel, name, hint)
    except ResourceError as error:
        raise ResourceError(error.message, error.hint, missing=link_path(netns, name)) from error


async def _require_neighbour(
    kernel: RtnetlinkSocket, gateway: IPAddress, wanted: DesiredRoute, link: int | None
) -> None:
    """Raise ResourceError unless the kernel can send packets to ``gateway`` directly, through the link of this index."""
    if link is not None and gateway.version == IPV6 and gateway.is_link_local:
        return  # the kernel takes it without a route to it
    question = message(
        RTM_GETROUTE,
        [("RTA_DST", str(gateway)), *(() if link is None else (("RTA_OIF", link),))],
        family=FAMILIES[gateway.version],
        dst_len=gateway.max_prefixlen,
        flags=_RTM_F_FIB_MATCH,  # otherwise it takes each address for a neighbour on a link that is given
    )
    try:
        answer = decoded(await kernel.ask(question))
        is_ours = gateway.version == IPV4 and answer["type"] == _RTN_LOCAL
        is_near = is_ours or (answer["type"] == _RTN_UNICAST and answer.get_attr("RTA_GATEWAY") is None)
    except OSError:  # there is no route at all
        is_near = False
    if not is_near:
        where = "no link that is up" if link is None else f"no network of the link {wanted.next_hop.link}"
        words = f"can't route {wanted.network} {wanted.next_hop}: the gateway is on {where}"
        raise ResourceError(words, GATEWAY_HINT)
