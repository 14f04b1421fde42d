"""The kind `address`: one IP address of a link."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

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
from reactor.resources.network import boot_files
from reactor.resources.network.address_table import FoundAddress, addresses_of, remove_alone
from reactor.resources.network.boot_configuration import configuration, read_files
from reactor.resources.network.boot_files import BootFile, FoundFile
from reactor.resources.network.link_table import check_ipv6_fits, find_index, index_of
from reactor.resources.network.losses import NONE, Losses, lost_with_addresses, shortened
from reactor.resources.network.preflight import refuse_address, refuse_unprivileged
from reactor.resources.network.property_types import (
    FAMILIES,
    IPV6,
    CidrText,
    IPInterface,
    LinkName,
    NamespaceName,
    Persist,
    addresses_path,
    link_path,
    needs_in,
    network_name,
    parse_cidr,
    persist_problem,
    qualified,
)
from reactor.resources.network.route_dump import routes_from, set_source_again
from reactor.resources.network.rtnetlink import NLM_F_CREATE, NLM_F_EXCL, RtnetlinkSocket, explained, message
from reactor.watchers.netlink import NetlinkWatch
from reactor.watchers.netlink_topics import RTM_NEWADDR, Topic, WatchedTopic

_SCOPE_GLOBAL, _SCOPE_HOST = 0, 254


class AddressState(NamedTuple):
    """The address as found on its link. IPv4 allows the same address with several prefix lengths.

    ``beside`` maps each of these that will be removed to the secondary addresses that the kernel would drop with it,
    and that must be kept. ``losses`` are the other things that the kernel removes with them.
    """

    found: tuple[FoundAddress, ...] = ()
    beside: Mapping[FoundAddress, tuple[str, ...]] = {}
    losses: Losses = NONE
    files: tuple[FoundFile, ...] = ()
    """Its file for the next boot."""


class Address(Resource[AddressState], kind="address"):
    """Manage one IP address of a link. Other addresses of the link are not changed."""

    example = "192.0.2.1/24 --link eth0"
    provides_only_its_own = True
    may_undo = frozenset(("address", "route"))

    ensure: Literal["present", "absent"] = "present"
    address: CidrText | None = None
    """The address with its prefix length, as in 192.0.2.1/24; by default the name of the resource."""
    link: LinkName
    """The link that has the address."""
    netns: NamespaceName | None = None
    """The network namespace; by default that of reactor."""
    persist: Persist | None = None
    """Also write it into this network configuration of the host, for the next boot. Without it, files are left alone."""
    force: Flag = False
    """Whether the address may be removed even if the kernel then removes the default route, too."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """A name that is not an address, if it is used as one."""
        yield from super().property_problems()
        yield from persist_problem(self.netns, self.persist)
        yield from name_problems(self, "address", parse_cidr)

    def watches(self) -> Iterable[Watch]:
        """The address on any link, the existence of the link, and for IPv6 whether the link has IPv6 enabled."""
        yield NetlinkWatch(self.netns, WatchedTopic.address(self._wanted.packed))
        yield NetlinkWatch(self.netns, WatchedTopic(Topic.PRESENCE, self.link))
        yield from boot_files.watches(self._files)
        if self.ensure == "present" and self._wanted.version == IPV6:
            yield NetlinkWatch(self.netns, WatchedTopic(Topic.IPV6, self.link))

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The address, for routes through the link; and its network, for routes whose gateway is in it.

        Depends on: The link and its namespace.
        """
        link = (link_path(self.netns, self.link),)
        if self.ensure == "absent":
            return Relations(depends_on=link)
        return Relations(
            provides=(self._path, network_name(self.netns, self._wanted.network)), depends_on=link
        )

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The permission to change the network, and its file."""
        return (*needs_in(self.netns), *(file.path for file in self._files))

    def claims(self) -> Iterable[Claim]:
        """The address on its link, with its prefix length."""
        desired = {"ensure": self.ensure, "address": str(self._wanted)}
        yield Claim("address", qualified(self.netns, f"{self._wanted.ip} on {self.link}"), desired)
        if self.ensure == "present":
            yield Claim("path", self._path, {"ensure": "directory"})

    async def observe(self) -> AddressState:
        """The address with every prefix length that it has on the link, the losses of a removal, and its file."""
        return (await self._observe())._replace(files=read_files(self.persist, self._files))

    async def _observe(self) -> AddressState:
        with RtnetlinkSocket(self.netns) as kernel, explained(f"read the addresses of {self.link}"):
            index = await find_index(kernel, self.link)
            if index is None:
                return AddressState()
            packed = self._wanted.packed
            found = await addresses_of(kernel, index, self._family, holding=packed)
            same = tuple(each for each in found if each.packed == packed)
            going = [each for each in same if self._is_to_go(each)]
            return await self._endangered(kernel, index, same, going) if going else AddressState(same)

    async def describe(self) -> Mapping[str, Any]:
        """Whether the address is present, and with which prefix lengths."""
        found = (await self.observe()).found
        addresses = [f"{self._wanted.ip}/{each.prefix_length}" for each in found]
        return {"ensure": "present" if found else "absent", "link": self.link, "addresses": addresses}

    def plan(self, state: AddressState, *, refresh: bool) -> Plan:  # noqa: ARG002  no refresh
        """Add or remove the address, or correct its prefix length: a link never keeps the same address twice.

        Then write its file. Raises ResourceError when another host has the address, or the default route would be
        removed with it.
        """
        return (*self._plan(state), *boot_files.steps(state.files))

    def _plan(self, state: AddressState) -> Plan:
        wrong = [found for found in state.found if self._is_to_go(found)]
        removals = tuple(self._removal(found, state, is_last=found is wrong[-1]) for found in wrong)
        if self.ensure == "absent":
            self._refuse_to_cut_off(state)
            return removals
        right = [found for found in state.found if found not in wrong]
        if any(found.is_taken for found in right):
            again = f"ip address delete {self._wanted} dev {self.link}"
            raise ResourceError(
                f"another host on {self.link} has {self._wanted.ip}, so the kernel does not use it here",
                f"remove it from that host, then from here, so that it is added again: {again}",
            )
        if right:
            return removals
        # IPv6 refuses the same address twice. IPv4 drops the routes of a link that loses its last address.
        if self._wanted.version == IPV6 and wrong:
            return (self._replacement(wrong),)
        return (self._addition(wrong), *removals)

    async def preflight(self, state: AddressState) -> None:
        """Check that the link exists, and that the file can be written."""
        if self._plan(state):
            refuse_unprivileged()
            await refuse_address(self.netns, self.link)
        boot_files.preflight(state.files)

    def _is_to_go(self, found: FoundAddress) -> bool:
        return self.ensure == "absent" or found.prefix_length != self._wanted.network.prefixlen

    async def _endangered(
        self,
        kernel: RtnetlinkSocket,
        index: int,
        same: tuple[FoundAddress, ...],
        going: Sequence[FoundAddress],
    ) -> AddressState:
        """The state, with everything that the kernel would remove together with the addresses ``going``."""
        others = [each for each in await addresses_of(kernel, index, self._family) if each not in going]
        beside = {each: tuple(map(str, each.secondaries(others))) for each in going}
        if self.ensure == "present":  # the address is added with the right prefix length first
            return AddressState(same, beside)
        return AddressState(
            same, beside, await lost_with_addresses(kernel, index, self._family, going, others)
        )

    def _refuse_to_cut_off(self, state: AddressState) -> None:
        if state.losses.default and not self.force:
            words = f"refusing to remove {self._wanted} from {self.link}: the default route would be removed with it"
            raise ResourceError(words, "set force: true if that is intended")

    @cached_property
    def _wanted(self) -> IPInterface:
        return parse_cidr(self.address or self.name)

    @property
    def _files(self) -> tuple[BootFile, ...]:
        if self.persist is None:
            return ()
        present = self.ensure == "present"
        return (configuration(self.persist).address_file(self.link, self._wanted, present=present),)

    @property
    def _family(self) -> int:
        return FAMILIES[self._wanted.version]

    @property
    def _path(self) -> str:
        return addresses_path(self.netns, self.link, self._wanted.version)

    def _addition(self, wrong: Sequence[FoundAddress]) -> Action:
        words = f"{self._wanted} to {self.link}"
        former = wrong[0] if wrong else None
        return Action.proven(f"added {words}", partial(self._add, former))

    def _replacement(self, wrong: Sequence[FoundAddress]) -> Action:
        lengths = " and ".join(f"/{found.prefix_length}" for found in wrong)
        words = f"changed the prefix length of {self._wanted.ip} on {self.link} from {lengths} to /{self._wanted.network.prefixlen}"
        return Action.proven(words, partial(self._replace, wrong))

    def _removal(self, found: FoundAddress, state: AddressState, *, is_last: bool) -> Action:
        words = f"removed {self._wanted.ip}/{found.prefix_length} from {self.link}"
        beside = state.beside.get(found, ())
        if beside:
            words += f", which keeps {shortened(beside)} of its network"
        if is_last:
            words += str(state.losses)
        return Action.proven(words, partial(self._remove, found))

    async def _add(self, former: FoundAddress | None) -> None:
        with RtnetlinkSocket(self.netns) as kernel, explained(f"add {self._wanted} to {self.link}"):
            await self._put(kernel, await index_of(kernel, self.link), former, nodad=False)

    async def _replace(self, wrong: Sequence[FoundAddress]) -> None:
        """Replace the address.

        For IPv6, the kernel removes it as the source of routes, so their source is set again.
        """
        with (
            RtnetlinkSocket(self.netns) as kernel,
            explained(f"change the prefix length of {self._wanted.ip}"),
        ):
            index = await index_of(kernel, self.link)
            routes = await routes_from(kernel, self._family, self._wanted.packed)
            for found in wrong:
                await remove_alone(kernel, index, found, beside=False)
            # To be a source at once, it must skip duplicate address detection; it was in use here a moment ago.
            await self._put(kernel, index, wrong[0], nodad=bool(routes))
            await set_source_again(kernel, routes)

    async def _put(
        self, kernel: RtnetlinkSocket, index: int, former: FoundAddress | None, *, nodad: bool
    ) -> None:
        """Add the address, with all attributes of ``former`` except its prefix length."""
        ip = str(self._wanted.ip)
        request = message(
            RTM_NEWADDR,
            [("IFA_LOCAL", ip), ("IFA_ADDRESS", ip)],
            header=NLM_F_CREATE | NLM_F_EXCL,
            family=self._family,
            prefixlen=self._wanted.network.prefixlen,
            scope=former.scope if former else _SCOPE_HOST if self._wanted.is_loopback else _SCOPE_GLOBAL,
            index=index,
        )
        kept = b"" if former is None else former.kept_attributes(nodad=nodad)
        try:
            await kernel.change(request._replace(body=request.body + kept))
        except OSError as error:
            if error.errno == errno.EINVAL and self._wanted.version == IPV6:
                await check_ipv6_fits(kernel, self.link)
            raise

    async def _remove(self, found: FoundAddress) -> None:
        with RtnetlinkSocket(self.netns) as kernel, explained(f"remove {self._wanted.ip} from {self.link}"):
            index = await index_of(kernel, self.link)
            beside = found.secondaries(await addresses_of(kernel, index, self._family))
            await remove_alone(kernel, index, found, beside=bool(beside))
