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

from reactor.resources.network.link_table import check_ipv6_fits, find_link, index_of, name_of
from reactor.resources.network.properties import FAMILIES, IPV4, IPV6, IPAddress, IPNetwork
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
    """Where packets go next. With a gateway, the link may be left to the kernel."""

    gateway: IPAddress | None
    link: str | None

    def __str__(self) -> str:
        via = () if self.gateway is None else ("via", str(self.gateway))
        return " ".join((*via, *(() if self.link is None else ("on", self.link))))


@dataclass(frozen=True, slots=True)
class WantedRoute:
    """A route as it should be. ``metric`` is as the kernel has it: never 0 for IPv6."""

    network: IPNetwork
    way: NextHop
    metric: int
    table: int

    @property
    def family(self) -> int:
        """The kernel's number for IPv4 or IPv6."""
        return FAMILIES[self.network.version]


class FoundRoute(NamedTuple):
    """A route as it is, and in the kernel's own words. One that leads nowhere (a blackhole) has no way."""

    ways: tuple[NextHop, ...]
    body: bytes

    def leads(self, way: NextHop) -> bool:
        """Whether it leads there and nowhere else."""
        if len(self.ways) != 1:
            return False
        (found,) = self.ways
        return found.gateway == way.gateway and way.link in (None, found.link)

    def kept_attributes(self) -> bytes:
        """What a route that replaces it takes over: its source and its metrics."""
        said = attributes(self.body, _FIXED_SIZE)
        kept = (_RTA_PREFSRC, _RTA_METRICS)
        return b"".join(pack_attribute(kind, value) for kind, value in said if kind in kept)

    def __str__(self) -> str:
        return " and ".join(map(str, self.ways)) or "nowhere"


class RouteState(NamedTuple):
    """The routes with the wanted destination, table and metric, the one in use first.

    ``has_others`` tells of routes to the same destination with other metrics.
    """

    found: tuple[FoundRoute, ...]
    has_others: bool = False


async def read(kernel: RtnetlinkSocket, wanted: WantedRoute) -> RouteState:
    """Look for the route. Raises OSError as the kernel does."""
    frames = await _dump(kernel, wanted.family, wanted.table, wanted.network)
    same = [frame for frame in frames if _number(frame, _RTA_PRIORITY, 0) == wanted.metric]
    found = [await found_route(kernel, frame) for frame in same]
    return RouteState(tuple(found), has_others=len(frames) > len(same))


async def put(kernel: RtnetlinkSocket, wanted: WantedRoute, found: Sequence[FoundRoute]) -> None:
    """Add the route. One that was found is replaced in place, so that packets have a way at any time.

    It keeps the source and the metrics (mtu, window and the like) that it had: nothing is said of those. Raises ResourceError when its link is not there, or the kernel refuses.
    """
    for extra in found[1:]:
        await remove(kernel, wanted, extra)
    with explained(f"route {wanted.network} {wanted.way}"):
        oif = None if wanted.way.link is None else await index_of(kernel, wanted.way.link)
        try:
            await kernel.change(addition(wanted, oif, found[0].kept_attributes() if found else None))
        except OSError as error:
            if error.errno == errno.ENODEV and wanted.way.link is not None and wanted.network.version == IPV6:
                await check_ipv6_fits(kernel, wanted.way.link)
            raise


async def remove(kernel: RtnetlinkSocket, wanted: WantedRoute, found: FoundRoute) -> None:
    """Remove a route that was found. Raises ResourceError when the kernel refuses."""
    with explained(f"remove the route to {wanted.network} {found}"):
        await kernel.change(Frame(RTM_DELROUTE, 0, 0, _named(found.body)))


def _named(body: bytes) -> bytes:
    """The route of that body, as a request names it: by a nexthop object alone, where answers also have what that says."""
    found = list(attributes(body, _FIXED_SIZE))
    if all(kind != _RTA_NH_ID for kind, _ in found):
        return body
    kept = (pack_attribute(kind, value) for kind, value in found if kind not in _WAYS_OF_A_NEXTHOP)
    without_type = body[:_TYPE_AT] + b"\0" + body[_TYPE_AT + 1 : _FIXED_SIZE]
    return without_type + b"".join(kept)


def addition(wanted: WantedRoute, oif: int | None, kept: bytes | None) -> Frame:
    """The request for a route, through the link of that number.

    ``kept``: the attributes that it takes over from one that it replaces; None if there is none.
    """
    gateway = wanted.way.gateway
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
    """Whether a default route of the main table goes through the link, or through one on top of it."""
    for family, network in _DEFAULTS.items():
        for frame in await _dump(kernel, family, MAIN_TABLE, network):
            for number, _ in _ways(frame):
                if index in await _stack(kernel, number):
                    return True
    return False


async def _stack(kernel: RtnetlinkSocket, index: int | None) -> set[int]:
    """The link and all that it rests on: a VLAN on its parent, one end of a veth on the other."""
    found: set[int] = set()
    while index is not None and index not in found:
        found.add(index)
        link = await find_link(kernel, index)
        # In another namespace that number means another link.
        is_here = link is not None and link.get_attr("IFLA_LINK_NETNSID") is None
        index = link.get_attr("IFLA_LINK") if is_here else None
    return found


async def _dump(kernel: RtnetlinkSocket, family: int, table: int, network: IPNetwork) -> list[Frame]:
    """Every route to exactly that network in the table, from all sources and for all types of service."""
    packed = network.network_address.packed
    try:
        frames = await kernel.dump(_question(family, table), packed if network.prefixlen else b"")
    except OSError as error:
        if error.errno == errno.ENOENT:  # a table without any route is none
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
    """The entry of a routing table that an answer tells of. Raises OSError as the kernel does."""
    ways = [NextHop(gateway, await name_of(kernel, oif)) for oif, gateway in _ways(frame)]
    return FoundRoute(tuple(ways), frame.body)


def _ways(frame: Frame) -> list[tuple[int | None, IPAddress | None]]:
    """Number of the link and gateway of each way that a packet may take."""
    route = decoded(frame)
    if route["type"] != _RTN_UNICAST:
        return []
    several = route.get_attr("RTA_MULTIPATH")
    if several is not None:
        return [(each["oif"], _gateway(each)) for each in several]
    return [(route.get_attr("RTA_OIF"), _gateway(route))]


def _gateway(way: Any) -> IPAddress | None:
    """The gateway, which for IPv4 may be one of IPv6."""
    other_family = way.get_attr("RTA_VIA")
    text = way.get_attr("RTA_GATEWAY") or (other_family and other_family["addr"])
    return None if text is None else ipaddress.ip_address(text)
