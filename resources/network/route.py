"""The kind `route`: one entry of a routing table."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from reactor import (
    Action,
    Claim,
    Flag,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
)
from reactor.resources.default_name import name_problems
from reactor.resources.ip_networks import IPNetwork
from reactor.resources.network import boot_files
from reactor.resources.network.boot_configuration import configuration, read_files
from reactor.resources.network.boot_files import BootFile, BootRoute
from reactor.resources.network.preflight import refuse_route, refuse_unprivileged
from reactor.resources.network.property_types import (
    IPV6,
    IPText,
    LinkName,
    NamespaceName,
    Persist,
    addresses_path,
    needs_in,
    network_name,
    parse_ip,
    parse_network,
    persist_problem,
    qualified,
)
from reactor.resources.network.routing_table import (
    MAIN_TABLE,
    DesiredRoute,
    FoundRoute,
    NextHop,
    RouteState,
    put,
    read,
    remove,
)
from reactor.resources.network.rtnetlink import RtnetlinkSocket, explained
from reactor.watchers.netlink import NetlinkWatch
from reactor.watchers.netlink_topics import ANY_LINK, Topic, WatchedTopic

DEFAULT = "default"

_METRIC_OF_IPV6 = 1024
"""The metric of the kernel for an IPv6 route without one."""

_Number = Annotated[int, Field(ge=0, le=2**32 - 1)]


def _check_destination(text: str) -> str:
    if text != DEFAULT:
        parse_network(text)
    return text


class Route(Resource[RouteState], kind="route"):
    """Manage one entry of a routing table: the way of packets to a destination."""

    example = "default --gateway 192.0.2.254"
    provides_only_its_own = True

    ensure: Literal["present", "absent"] = "present"
    destination: Annotated[str, AfterValidator(_check_destination)] | None = None
    """A network, an address, or `default`; by default the name of the resource."""
    gateway: IPText | None = None
    """The address of the next router."""
    link: LinkName | None = None
    """The link through which packets leave; with a gateway, the kernel can find it."""
    metric: _Number | None = None
    """The metric: the lowest wins. Routes to one destination with different metrics are different routes."""
    table: Annotated[_Number, Field(ge=1)] = MAIN_TABLE
    """The number of the routing table; 254 is the main one."""
    netns: NamespaceName | None = None
    """The network namespace; by default that of reactor."""
    persist: Persist | None = None
    """Also write it into this network configuration of the host, for the next boot; it needs `link`. Without it, files are
    left alone."""
    force: Flag = False
    """Whether the last default route may be removed."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """A name that is not a destination, a route without gateway and link, and an invalid gateway."""
        yield from super().property_problems()
        yield from persist_problem(self.netns, self.persist)
        if self.persist is not None and self.link is None:
            yield PropertyProblem(
                ("persist",), f"{self.persist} keeps routes by their link", "add link: NAME"
            )
        yield from (problems := list(name_problems(self, "destination", _check_destination)))
        if problems:
            return
        if self.gateway is not None:
            yield from self._gateway_problems(self.gateway)
        elif self.link is None and self.ensure == "present":
            yield PropertyProblem((), "the route leads nowhere", "add gateway: ADDRESS, or link: NAME")

    def _gateway_problems(self, gateway: str) -> Iterable[PropertyProblem]:
        address = parse_ip(gateway)
        if address.version != self._network.version:
            words = (
                f"{self._network} is of IPv{self._network.version}, and its gateway of IPv{address.version}"
            )
            yield PropertyProblem(("gateway",), words, "use the same IP version for both")
        if address.version == IPV6 and address.is_link_local and self.link is None:
            words = "a link-local gateway (fe80:...) needs a link"
            yield PropertyProblem(("gateway",), words, "add link: NAME")

    def watches(self) -> Iterable[Watch]:
        """The route, and the links, addresses and nexthops whose changes remove it or allow it again.

        The kernel sends no event when such a change removes an IPv4 route.
        """
        network = self._network
        route = WatchedTopic.route(self.table, network.network_address.packed, network.prefixlen)
        yield NetlinkWatch(self.netns, route)
        yield from boot_files.watches(self._files)
        if self.ensure == "absent":
            return
        where = self.link or ANY_LINK
        of_family = (
            WatchedTopic(Topic.IPV6, where)
            if network.version == IPV6
            else WatchedTopic(Topic.NEXTHOPS, ANY_LINK)
        )
        for subject in (WatchedTopic(Topic.LINK, where), WatchedTopic(Topic.ADDRESSES, where), of_family):
            yield NetlinkWatch(self.netns, subject)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: The addresses of the link, since a gateway must be in one of their networks; if none is managed,
        the link.
        """
        return Relations(depends_on=tuple(self._dependencies()))

    def _dependencies(self) -> Iterator[str]:
        """The addresses of the link, since a gateway must be in one of their networks; if none is managed, the link.

        Without ``link``, the addresses whose network contains the gateway: the kernel finds the link by them.
        """
        if self.link is not None:
            yield addresses_path(self.netns, self.link, self._network.version)
            return
        if self.netns is not None:
            yield f"/run/netns/{self.netns}"
        if self.gateway is not None and self.ensure == "present":
            yield from _networks_around(self.netns, self.gateway)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The permission to change the network, and its file."""
        return (*needs_in(self.netns), *(file.path for file in self._files))

    def claims(self) -> Iterable[Claim]:
        """The entry of the table, by destination, metric and table."""
        key = f"to {self._network} with metric {self._metric} in table {self.table}"
        desired: dict[str, object] = {"ensure": self.ensure}
        if self.ensure == "present":
            desired["gateway"] = self._next_hop.gateway
            if self.link is not None:
                desired["link"] = self.link
        yield Claim("route", qualified(self.netns, key), desired)

    async def observe(self) -> RouteState:
        """The entries of the table for the destination, and the file of the route."""
        with RtnetlinkSocket(self.netns) as kernel, explained(f"read the routes to {self._network}"):
            state = await read(kernel, self._wanted)
        return state._replace(files=read_files(self.persist, self._files))

    async def describe(self) -> Mapping[str, Any]:
        """The existing entries, in words."""
        state = await self.observe()
        next_hops = [str(each) for each in state.found]
        return {"ensure": "present" if next_hops else "absent", "next_hops": next_hops}

    def plan(self, state: RouteState, *, refresh: bool) -> Plan:  # noqa: ARG002  nothing to refresh
        """Add, replace or remove the route, then write its file.

        Raises ResourceError for the removal of the last default route.
        """
        return (*self._plan(state), *boot_files.steps(state.files))

    def _plan(self, state: RouteState) -> Plan:
        if self.ensure == "absent":
            self._refuse_to_cut_off(state)
            return tuple(self._removal(found) for found in state.found)
        if not state.found:
            words = f"the route {self._next_hop}"
            return (Action.proven(f"added {words}", self._put),)
        if len(state.found) == 1 and state.found[0].leads(self._next_hop):
            return ()
        words = f"the route from {' and '.join(map(str, state.found))} to {self._next_hop}"
        run = partial(self._put, state.found)
        return (Action.proven(f"changed {words}", run),)

    async def preflight(self, state: RouteState) -> None:
        """Check that the gateway can be reached, and that the file can be written."""
        if self._plan(state):
            refuse_unprivileged()
        if self.ensure == "present" and self._plan(state):
            await refuse_route(self.netns, self._wanted)
        boot_files.preflight(state.files)

    def _refuse_to_cut_off(self, state: RouteState) -> None:
        is_last_default = not self._network.prefixlen and self.table == MAIN_TABLE and not state.has_others
        if state.found and is_last_default and not self.force:
            words = "refusing to remove the last default route: this host may become unreachable"
            raise ResourceError(words, "set force: true if that is intended")

    def _removal(self, found: FoundRoute) -> Action:
        words = f"removed the route {found}"
        return Action.proven(words, partial(self._remove, found))

    @cached_property
    def _network(self) -> IPNetwork:
        text = self.destination or self.name
        if text == DEFAULT:
            text = "::/0" if self.gateway is not None and ":" in self.gateway else "0.0.0.0/0"
        return parse_network(text)

    @property
    def _files(self) -> tuple[BootFile, ...]:
        if self.persist is None or self.link is None:
            return ()
        present = self.ensure == "present"
        route = BootRoute(self._network, self.gateway, self.metric, self.table)
        return (configuration(self.persist).route_file(self.link, route, present=present),)

    @property
    def _metric(self) -> int:
        return self.metric or (_METRIC_OF_IPV6 if self._network.version == IPV6 else 0)

    @property
    def _next_hop(self) -> NextHop:
        return NextHop(None if self.gateway is None else parse_ip(self.gateway), self.link)

    @cached_property
    def _wanted(self) -> DesiredRoute:
        return DesiredRoute(self._network, self._next_hop, self._metric, self.table)

    async def _put(self, found: tuple[FoundRoute, ...] = ()) -> None:
        with RtnetlinkSocket(self.netns) as kernel:
            await put(kernel, self._wanted, found)

    async def _remove(self, found: FoundRoute) -> None:
        with RtnetlinkSocket(self.netns) as kernel:
            await remove(kernel, self._wanted, found)


@lru_cache(maxsize=64)
def _networks_around(netns: str | None, gateway: str) -> tuple[str, ...]:
    """The names of all networks that the gateway may be in. Many routes have the same gateway."""
    host = ipaddress.ip_network(parse_ip(gateway))
    lengths = range(1, host.prefixlen + 1)
    return tuple(network_name(netns, host.supernet(new_prefix=length)) for length in lengths)
