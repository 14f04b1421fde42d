"""The kind `address`: one IP address of a link."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Literal

from reactor import Action, Claim, Need, Plan, PropertyProblem, Resource, ResourceError, Watch
from resources.network.addresses import FoundAddress, addresses_of
from resources.network.conversation import NLM_F_CREATE, NLM_F_EXCL, Conversation, explained, message
from resources.network.links import check_ipv6_fits, find_index, index_of
from resources.network.properties import (
    FAMILIES,
    IPV6,
    CidrText,
    IPInterface,
    LinkName,
    NamespaceName,
    addresses_path,
    fault_of_name,
    link_path,
    needs_in,
    network_name,
    parse_cidr,
    qualified,
)
from watchers.netlink import NetlinkWatch
from watchers.netlink_socket import Frame
from watchers.netlink_subjects import RTM_DELADDR, RTM_NEWADDR, Subject, Topic

_SCOPE_GLOBAL, _SCOPE_HOST = 0, 254


class Address(Resource, kind="address"):
    """Manage one IP address of a link. Other addresses of the link are left alone."""

    example = "192.0.2.1/24 --link eth0"

    ensure: Literal["present", "absent"] = "present"
    address: CidrText | None = None
    """The address with its prefix length, as in 192.0.2.1/24; without it the name is it."""
    link: LinkName
    """The link that has the address."""
    netns: NamespaceName | None = None
    """The network namespace to act in."""

    def conflicts(self) -> Iterable[PropertyProblem]:
        """Adds a name that is no address."""
        yield from super().conflicts()
        if self.address is None:
            yield from fault_of_name(parse_cidr, self.name, "address")

    def watches(self) -> Iterable[Watch]:
        """The address, on whatever link, and whether the link is there, for IPv6 with that switched on."""
        yield NetlinkWatch(self.netns, Subject.address(self._wanted.packed))
        yield NetlinkWatch(self.netns, Subject(Topic.PRESENCE, self.link))
        if self.ensure == "present" and self._wanted.version == IPV6:
            yield NetlinkWatch(self.netns, Subject(Topic.IPV6, self.link))

    def provides(self) -> Iterable[str]:
        """What routes through the link rely on, and those through a gateway in its network."""
        if self.ensure == "present":
            yield self._path
            yield network_name(self.netns, self._wanted.network)

    def uses(self) -> Iterable[str]:
        """The link, and with it its namespace."""
        return (link_path(self.netns, self.link),)

    def needs(self) -> Iterable[Need]:
        """The right to change the network."""
        return needs_in(self.netns)

    def claims(self) -> Iterable[Claim]:
        """The address on its link, whose prefix length is a part of what is wanted."""
        wishes = {"ensure": self.ensure, "address": str(self._wanted)}
        yield Claim("address", qualified(self.netns, f"{self._wanted.ip} on {self.link}"), wishes)
        if self.ensure == "present":
            yield Claim("path", self._path, {"ensure": self.ensure})

    async def observe(self) -> tuple[FoundAddress, ...]:
        """Every form in which the address is on the link: IPv4 allows it with several prefix lengths."""
        with Conversation(self.netns) as kernel, explained(f"read the addresses of {self.link}"):
            index = await find_index(kernel, self.link)
            if index is None:
                return ()
            packed = self._wanted.packed
            found = await addresses_of(kernel, index, self._family, holding=packed)
            return tuple(each for each in found if each.packed == packed)

    async def present(self) -> Mapping[str, Any]:
        """Whether it is there, and with which prefix lengths."""
        found = await self.observe()
        addresses = [f"{self._wanted.ip}/{each.prefix_length}" for each in found]
        return {"ensure": "present" if found else "absent", "link": self.link, "addresses": addresses}

    def plan(self, state: tuple[FoundAddress, ...], *, refresh: bool) -> Plan:  # noqa: ARG002  no refresh
        """Add it, remove it, or mend its prefix length: the same address is never kept twice on one link.

        Raises ResourceError when another host has it.
        """
        if self.ensure == "absent":
            return tuple(self._removal(found) for found in state)
        wanted = self._wanted.network.prefixlen
        wrong = [found for found in state if found.prefix_length != wanted]
        if any(found.is_taken for found in state if found not in wrong):
            again = f"ip address delete {self._wanted} dev {self.link}"
            raise ResourceError(
                f"another host on {self.link} has {self._wanted.ip}, so the kernel does not use it here",
                f"take it from there, then from here, to have it added and tried again: {again}",
            )
        removals = tuple(self._removal(found) for found in wrong)
        if len(wrong) < len(state):
            return removals
        # IPv6 refuses an address twice. IPv4 drops the routes of a link that loses its last one.
        return (
            (*removals, self._addition()) if self._wanted.version == IPV6 else (self._addition(), *removals)
        )

    @cached_property
    def _wanted(self) -> IPInterface:
        return parse_cidr(self.address or self.name)

    @property
    def _family(self) -> int:
        return FAMILIES[self._wanted.version]

    @property
    def _path(self) -> str:
        return addresses_path(self.netns, self.link, self._wanted.version)

    def _addition(self) -> Action:
        words = f"{self._wanted} to {self.link}"
        return Action(f"Would have added {words}", f"added {words}", self._add)

    def _removal(self, found: FoundAddress) -> Action:
        words = f"removed {self._wanted.ip}/{found.prefix_length} from {self.link}"
        return Action(f"Would have {words}", words, partial(self._remove, found))

    async def _add(self) -> None:
        with Conversation(self.netns) as kernel, explained(f"add {self._wanted} to {self.link}"):
            index = await index_of(kernel, self.link)
            ip = str(self._wanted.ip)
            request = message(
                RTM_NEWADDR,
                [("IFA_LOCAL", ip), ("IFA_ADDRESS", ip)],
                header=NLM_F_CREATE | NLM_F_EXCL,
                family=self._family,
                prefixlen=self._wanted.network.prefixlen,
                scope=_SCOPE_HOST if self._wanted.is_loopback else _SCOPE_GLOBAL,
                index=index,
            )
            try:
                await kernel.change(request)
            except OSError as error:
                if error.errno == errno.EINVAL and self._wanted.version == IPV6:
                    await check_ipv6_fits(kernel, self.link)
                raise

    async def _remove(self, found: FoundAddress) -> None:
        with Conversation(self.netns) as kernel, explained(f"remove {self._wanted.ip} from {self.link}"):
            await kernel.change(Frame(RTM_DELADDR, 0, 0, found.body))
