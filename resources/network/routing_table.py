"""Reads and writes the entries of routing tables."""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from reactor.resources.ip_networks import IPNetwork
from reactor.resources.network.boot_files import FoundFile
from reactor.resources.network.link_table import check_ipv6_fits, find_link, index_of, name_of
from reactor.resources.network.property_types import FAMILIES, IPV4, IPV6, IPAddress
from reactor.resources.network.rtnetlink import (
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    RtnetlinkSocket,
    decoded,
    explained,
    message,
)
from reactor.watchers.netlink_socket import Frame, attributes, pack_attribute
from reactor.watchers.netlink_topics import RTM_DELROUTE, RTM_NEWROUTE

MAIN_TABLE = 254

RTM_GETROUTE = 26
_RTPROT_STATIC = 4
_RTN_UNICAST = 1
_SCOPE_UNIVERSE, _SCOPE_LINK = 0, 253
_FIXED_SIZE, _TYPE_AT = 12, 7
_RTA_DST, _RTA_PRIORITY, _RTA_PREFSRC, _RTA_METRICS, _RTA_TABLE, _RTA_NH_ID = 1, 6, 7, 8, 15, 30
_WAYS_OF_A_NEXTHOP = frozenset((4, 5, 9, 18, 21, 22))  # OIF, GATEWAY, MULTIPATH, VIA, ENCAP_TYPE, ENCAP
_DEFAULTS = {socket.AF_INET: ipaddress.ip_network("0.0.0.0/0"), socket.AF_INET6: ipaddress.ip_network("::/0")}


class NextHop(NamedTuple):
    """The next hop of a route. With a gateway, the kernel can find the link."""

    gateway: IPAddress | None
    link: str | None

    def __str__(self) -> str:
        via = () if self.gateway is None else ("via", str(self.gateway))
        return " ".join((*via, *(() if self.link is None else ("on", self.link))))


@dataclass(frozen=True, slots=True)
class DesiredRoute:
    """The desired route. ``metric`` is the metric in the kernel, which is never 0 for IPv6."""

    network: IPNetwork
    next_hop: NextHop
    metric: int
    table: int

    @property
    def family(self) -> int:
        """The address family."""
        return FAMILIES[self.network.version]


class FoundRoute(NamedTuple):
    """An existing route, with the message body of the kernel. A blackhole has no next hops in ``next_hops``."""

    next_hops: tuple[NextHop, ...]
    body: bytes

    def leads(self, wanted: NextHop) -> bool:
        """Whether ``wanted`` is its only next hop."""
        if len(self.next_hops) != 1:
            return False
        (found,) = self.next_hops
        return found.gateway == wanted.gateway and wanted.link in (None, found.link)

    def kept_attributes(self) -> bytes:
        """The attributes that a replacing route keeps: source and metrics."""
        found = attributes(self.body, _FIXED_SIZE)
        kept = (_RTA_PREFSRC, _RTA_METRICS)
        return b"".join(pack_attribute(kind, value) for kind, value in found if kind in kept)

    def __str__(self) -> str:
        return " and ".join(map(str, self.next_hops)) or "nowhere"


class RouteState(NamedTuple):
    """The routes with the desired destination, table and metric, the one in use first.

    ``has_others``: there are routes to the same destination with other metrics.
    """

    found: tuple[FoundRoute, ...]
    has_others: bool = False
    files: tuple[FoundFile, ...] = ()
    """Its file for the next boot."""


async def read(kernel: RtnetlinkSocket, wanted: DesiredRoute) -> RouteState:
    """Read the routes that match ``wanted``. Raises OSError for an error of the kernel."""
    frames = await _dump(kernel, wanted.family, wanted.table, wanted.network)
    same = [frame for frame in frames if _number(frame, _RTA_PRIORITY, 0) == wanted.metric]
    found = [await found_route(kernel, frame) for frame in same]
    return RouteState(tuple(found), has_others=len(frames) > len(same))


async def put(kernel: RtnetlinkSocket, wanted: DesiredRoute, found: Sequence[FoundRoute]) -> None:
    """Add the route. An existing one is replaced atomically, so that packets always have a route.

    It keeps its source and metrics (mtu, window and the like), which are not managed. Raises ResourceError when its
    link does not exist, or the kernel refuses.
    """
    for extra in found[1:]:
        await remove(kernel, wanted, extra)
    with explained(f"route {wanted.network} {wanted.next_hop}"):
        oif = None if wanted.next_hop.link is None else await index_of(kernel, wanted.next_hop.link)
        try:
            await kernel.change(addition(wanted, oif, found[0].kept_attributes() if found else None))
        except OSError as error:
            if (
                error.errno == errno.ENODEV
                and wanted.next_hop.link is not None
                and wanted.network.version == IPV6
            ):
                await check_ipv6_fits(kernel, wanted.next_hop.link)
            raise


async def remove(kernel: RtnetlinkSocket, wanted: DesiredRoute, found: FoundRoute) -> None:
    """Remove an existing route. Raises ResourceError when the kernel refuses."""
    with explained(f"remove the route to {wanted.network} {found}"):
        await kernel.change(Frame(RTM_DELROUTE, 0, 0, _named(found.body)))


def _named(body: bytes) -> bytes:
    """The message body that names the route in a request.

    A route with a nexthop object is named by that object only.
    """
    found = list(attributes(body, _FIXED_SIZE))
    if all(kind != _RTA_NH_ID for kind, _ in found):
        return body
    kept = (pack_attribute(kind, value) for kind, value in found if kind not in _WAYS_OF_A_NEXTHOP)
    without_type = body[:_TYPE_AT] + b"\0" + body[_TYPE_AT + 1 : _FIXED_SIZE]
    return without_type + b"".join(kept)


def addition(wanted: DesiredRoute, oif: int | None, kept: bytes | None) -> Frame:
    """The request to add a route through the link with the index ``oif``.

    ``kept``: the attributes of the route that it replaces; None if there is none.
    """
    gateway = wanted.next_hop.gateway
    attrs = {
        "RTA_DST": str(wanted.network.network_address) if wanted.network.prefixlen else None,
        "RTA_GATEWAY": None if gateway is None else str(gateway),
        "RTA_OIF": oif,
        "RTA_PRIORITY": wanted.metric,
        "RTA_TABLE": wanted.table,
    }
    is_direct = gateway is None and wanted.network.version == IPV4
    request = message(
        RTM_NEWROUTE,
        [(name, value) for name, value in attrs.items() if value is not None],
        header=NLM_F_CREATE | (NLM_F_EXCL if kept is None else NLM_F_REPLACE),
        family=wanted.family,
        dst_len=wanted.network.prefixlen,
        proto=_RTPROT_STATIC,
        type=_RTN_UNICAST,
        scope=_SCOPE_LINK if is_direct else _SCOPE_UNIVERSE,
    )
    return request._replace(body=request.body + (kept or b""))


async def carries_default_route(kernel: RtnetlinkSocket, index: int) -> bool:
    """Whether a default route of the main table goes through the link or a link above it."""
    for family, network in _DEFAULTS.items():
        for frame in await _dump(kernel, family, MAIN_TABLE, network):
            for number, _ in _next_hops(frame):
                if index in await _stack(kernel, number):
                    return True
    return False


async def _stack(kernel: RtnetlinkSocket, index: int | None) -> set[int]:
    """The link and all links below it: a VLAN is above its parent, one end of a veth above the other."""
    found: set[int] = set()
    while index is not None and index not in found:
        found.add(index)
        link = await find_link(kernel, index)
        # In another namespace, the index means another link.
        is_here = link is not None and link.get_attr("IFLA_LINK_NETNSID") is None
        index = link.get_attr("IFLA_LINK") if is_here else None
    return found


async def _dump(kernel: RtnetlinkSocket, family: int, table: int, network: IPNetwork) -> list[Frame]:
    """Every route in the table to exactly this network, without source prefix and type of service."""
    packed = network.network_address.packed
    try:
        frames = await kernel.dump(_question(family, table), packed if network.prefixlen else b"")
    except OSError as error:
        if error.errno == errno.ENOENT:  # the table does not exist: it has no routes
            return []
        raise
    return [frame for frame in frames if _is_to(frame, network) and _number(frame, _RTA_TABLE, 0) == table]


@lru_cache(maxsize=64)
def _question(family: int, table: int) -> Frame:
    return message(RTM_GETROUTE, [("RTA_TABLE", table)], family=family)


def _is_to(frame: Frame, network: IPNetwork) -> bool:
    prefix_length, length_of_source, type_of_service = frame.body[1:4]
    if prefix_length != network.prefixlen or length_of_source or type_of_service:
        return False
    packed = network.network_address.packed
    return dict(attributes(frame.body, _FIXED_SIZE)).get(_RTA_DST, bytes(len(packed))) == packed


def _number(frame: Frame, kind: int, default: int) -> int:
    value = dict(attributes(frame.body, _FIXED_SIZE)).get(kind)
    return default if value is None else int.from_bytes(value, sys.byteorder)


async def found_route(kernel: RtnetlinkSocket, frame: Frame) -> FoundRoute:
    """The route in an answer of the kernel. Raises OSError for an error of the kernel."""
    next_hops = [NextHop(gateway, await name_of(kernel, oif)) for oif, gateway in _next_hops(frame)]
    return FoundRoute(tuple(next_hops), frame.body)


def _next_hops(frame: Frame) -> list[tuple[int | None, IPAddress | None]]:
    """The link index and gateway of each next hop."""
    route = decoded(frame)
    if route["type"] != _RTN_UNICAST:
        return []
    several = route.get_attr("RTA_MULTIPATH")
    if several is not None:
        return [(each["oif"], _gateway(each)) for each in several]
    return [(route.get_attr("RTA_OIF"), _gateway(route))]


def _gateway(way: Any) -> IPAddress | None:
    """The gateway, which may be an IPv6 address for an IPv4 route."""
    other_family = way.get_attr("RTA_VIA")
    text = way.get_attr("RTA_GATEWAY") or (other_family and other_family["addr"])
    return None if text is None else ipaddress.ip_address(text)
