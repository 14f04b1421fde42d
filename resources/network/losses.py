"""Finds the addresses, links and routes that the kernel removes by itself together with an address or a link."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from reactor.resources.enumeration import listed
from reactor.resources.network.address_table import FoundAddress, addresses_of
from reactor.resources.network.link_table import name_of
from reactor.resources.network.property_types import FAMILIES, IPV4, IPV6
from reactor.resources.network.route_dump import RouteEntry, all_routes
from reactor.resources.network.routing_table import MAIN_TABLE
from reactor.resources.network.rtnetlink import RtnetlinkSocket, decoded, message
from reactor.watchers.netlink_topics import RTM_GETLINK

_MOST_NAMED: Final = 8
_SCOPE_LINK: Final = 253
_ON_TOP: Final = frozenset(("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "vxlan", "veth"))
"""The types of links that the kernel removes with their parent, or with the other end."""
_GO_DOWN_WITH: Final = frozenset(("vlan",))


class Loss(Enum):
    """A planned change of a link."""

    REMOVED = auto()
    DOWN = auto()
    NO_IPV6 = auto()
    """The new MTU is too small for IPv6."""


class Losses(NamedTuple):
    """The removed things, for messages. ``default``: whether a default route of the main table is among them."""

    links: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    default: bool = False

    def __str__(self) -> str:
        """The end of a sentence; empty if there are none."""
        parts = (("link", self.links), ("address", self.addresses), ("route", self.routes))
        lost = [
            f"the {noun if len(some) == 1 else _plural(noun)} {shortened(some)}"
            for noun, some in parts
            if some
        ]
        if not lost:
            return ""
        is_one = len(self.links) + len(self.addresses) + len(self.routes) == 1
        return f"; with it {'goes' if is_one else 'go'} {' and '.join(lost)}"


NONE: Final = Losses()


def shortened(names: Sequence[str]) -> str:
    """The names as an enumeration, shortened if there are many: ``a, b and 3 more``."""
    shown = list(names[:_MOST_NAMED])
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return listed(shown)


async def lost_with_addresses(
    kernel: RtnetlinkSocket,
    index: int,
    family: int,
    going: Collection[FoundAddress],
    left: Collection[FoundAddress],
) -> Losses:
    """The losses if the addresses ``going`` of the link with this index are removed, and those in ``left`` stay.

    For IPv4, these are the routes with such a source address; after the last address, all routes through the link. For
    IPv6, routes only lose their source. Raises OSError for an error of the kernel.
    """
    if family != socket.AF_INET:
        return NONE
    sources = {each.packed for each in going} - {each.packed for each in left}
    lost = [
        route
        for route in await all_routes(kernel, family)
        if (not left and route.goes_only_through({index}))
        or (route.source in sources and route.table == MAIN_TABLE)
    ]
    return Losses(routes=await _in_words(kernel, lost), default=any(route.is_default for route in lost))


async def lost_with_link(kernel: RtnetlinkSocket, index: int, loss: Loss) -> Losses:
    """The losses that the change ``loss`` of the link with this index causes.

    Raises OSError for an error of the kernel.
    """
    is_removed = loss is Loss.REMOVED
    versions = (IPV6,) if loss is Loss.NO_IPV6 else (IPV4, IPV6)
    types = _ON_TOP if is_removed else _GO_DOWN_WITH if loss is Loss.DOWN else frozenset()
    links = [decoded(frame) for frame in await kernel.dump(message(RTM_GETLINK))]
    on_top = _on_top(links, index, types)
    affected = {index, *(link["index"] for link in on_top)}
    routes = [route for version in versions for route in await all_routes(kernel, FAMILIES[version])]
    lost = [route for route in routes if route.goes_only_through(affected)]
    return Losses(
        tuple(link.get_attr("IFLA_IFNAME") for link in on_top) if is_removed else (),
        await _lost_addresses(kernel, index, affected, versions if is_removed else (IPV6,)),
        await _in_words(kernel, lost),
        any(route.is_default for route in lost),
    )


def _on_top(links: Iterable[Any], index: int, types: Collection[str]) -> list[Any]:
    """The links of these ``types`` above the link with this index, directly or indirectly, in the order found."""
    found: list[Any] = []
    numbers = {index}
    links, before = list(links), -1
    while len(found) > before:
        before = len(found)
        for link in links:
            is_here = link.get_attr("IFLA_LINK_NETNSID") is None
            if link["index"] not in numbers and is_here and _kind(link) in types and _parent(link) in numbers:
                found.append(link)
                numbers.add(link["index"])
    return found


def _kind(link: Any) -> Any:
    return link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND")


def _parent(link: Any) -> Any:
    if _kind(link) == "vxlan":
        return link.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA", "IFLA_VXLAN_LINK")
    return link.get_attr("IFLA_LINK")


async def _lost_addresses(
    kernel: RtnetlinkSocket, index: int, affected: Iterable[int], versions: Collection[int]
) -> tuple[str, ...]:
    """The addresses of the ``affected`` links, without link-local ones, which the kernel creates itself."""
    lost = []
    for number in sorted(affected):
        where = "" if number == index else f" on {await name_of(kernel, number)}"
        for version in versions:
            found = await addresses_of(kernel, number, FAMILIES[version])
            lost += [f"{each}{where}" for each in found if each.scope != _SCOPE_LINK]
    return tuple(lost)


async def _in_words(kernel: RtnetlinkSocket, routes: Iterable[RouteEntry]) -> tuple[str, ...]:
    return tuple([await route.in_words(kernel) for route in routes])


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
