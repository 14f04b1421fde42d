"""The properties of the kind `link`, and the rules for their combinations."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field

from reactor import Flag, PropertyProblem, Resource
from reactor.resources.default_name import name_problems
from reactor.resources.network.link_state import LinkState
from reactor.resources.network.property_types import (
    IPText,
    LinkName,
    MacAddress,
    NamespaceName,
    Persist,
    check_link_name,
    persist_problem,
)

LinkType = Literal["bridge", "veth", "vlan", "macvlan", "vxlan", "bond", "dummy"]


class Made(NamedTuple):
    """The properties with which a link of one type is created."""

    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()
    ids: range = range(0)
    modes: tuple[str, ...] = ()


MACVLAN_MODES = ("bridge", "private", "vepa", "passthru")
BOND_MODES = (
    "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb",
)  # fmt: skip
"""The modes of a bond, in the order of the kernel's numbers for them."""

TYPES: Final[dict[str, Made]] = {
    "bridge": Made(),
    "veth": Made(needs=("peer",)),
    "vlan": Made(needs=("parent", "id"), ids=range(1, 4095)),
    "macvlan": Made(needs=("parent",), may_have=("mode",), modes=MACVLAN_MODES),
    "vxlan": Made(needs=("id",), may_have=("parent", "remote"), ids=range(1 << 24)),
    "bond": Made(may_have=("mode",), modes=BOND_MODES),
    "dummy": Made(),
}

NETPLAN_TYPES: Final = ("bridge", "vlan", "vxlan", "bond")
"""The types of links that netplan makes."""

_MADE_WITH = ("peer", "parent", "id", "mode", "remote")
_EXAMPLES = {"peer": "peer: NAME", "parent": "parent: NAME", "id": "id: 5"}


class LinkProperties(Resource[LinkState | None]):
    """The properties of a link."""

    ensure: Literal["present", "absent"] = "present"
    link: LinkName | None = None
    """The name of the link, such as eth0; by default the name of the resource."""
    type: LinkType | None = None
    """The type of the link to create; unset, the link must exist already, or appear by itself."""
    peer: LinkName | None = None
    """For a veth: the other end, which is created with it."""
    parent: LinkName | None = None
    """For a vlan, macvlan or vxlan: the link below it."""
    id: int | None = None
    """The id of a vlan or vxlan."""
    mode: str | None = None
    """For a macvlan (default: bridge) or a bond (default: balance-rr)."""
    remote: IPText | None = None
    """For a vxlan: the remote address, or a multicast group."""
    state: Literal["up", "down"] = "up"
    """Whether the link is up."""
    mtu: Annotated[int, Field(ge=68, le=65536)] | None = None
    """The largest packet, in bytes."""
    master: LinkName | None = None
    """The bridge or bond that it belongs to."""
    address: MacAddress | None = None
    """Its MAC address."""
    netns: NamespaceName | None = None
    """The network namespace; by default that of reactor."""
    persist: Persist | None = None
    """Also write it into this network configuration of the host, for the next boot. Without it, files are left alone."""
    force: Flag = False
    """Whether a change may cut off the default route, or replace a link of another type."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """An invalid name, properties that do not fit the type, and a link that names itself."""
        yield from super().property_problems()
        yield from name_problems(self, "link", check_link_name)
        for relation in ("peer", "parent", "master"):
            if getattr(self, relation) == self.interface:
                yield PropertyProblem((relation,), f"a link can't be its own {relation}", "name another")
        yield from persist_problem(self.netns, self.persist)
        if self.persist == "netplan" and self.type is not None and self.type not in NETPLAN_TYPES:
            words = f"netplan makes no link of type {self.type}"
            yield PropertyProblem(
                ("persist",), words, f"it makes {', '.join(NETPLAN_TYPES)}: use another persist"
            )
        yield from self._foreign_properties()
        if self.type is not None and self.ensure == "present":
            yield from self._misfits(self.type, TYPES[self.type])

    @property
    def interface(self) -> str:
        """The name of the link."""
        return self.link or self.name

    def _foreign_properties(self) -> Iterable[PropertyProblem]:
        """Properties that a link of its type does not have."""
        made = TYPES[self.type] if self.type is not None else Made()
        for name in _MADE_WITH:
            if getattr(self, name) is not None and name not in (*made.needs, *made.may_have):
                owners = [kind for kind, each in TYPES.items() if name in (*each.needs, *each.may_have)]
                subject = f"a {self.type}" if self.type is not None else "a link without a type"
                hint = f"remove it, or write type: {' or '.join(owners)}"
                yield PropertyProblem((name,), f"{subject} has no {name}", hint)

    def _misfits(self, kind: str, made: Made) -> Iterable[PropertyProblem]:
        """Missing properties, and values that its type does not allow."""
        for name in made.needs:
            if getattr(self, name) is None:
                yield PropertyProblem(("type",), f"a {kind} needs {name}", f"add {_EXAMPLES[name]}")
        if self.id is not None and made.ids and self.id not in made.ids:
            words = f"the id of a {kind} is from {made.ids.start} to {made.ids.stop - 1}, not {self.id}"
            yield PropertyProblem(("id",), words, "choose another")
        if self.mode is not None and made.modes and self.mode not in made.modes:
            words = f"{self.mode!r} is not a mode of a {kind}"
            yield PropertyProblem(("mode",), words, f"choose one of {', '.join(made.modes)}")
        if self.remote is not None and self.parent is None and ipaddress.ip_address(self.remote).is_multicast:
            yield PropertyProblem(("remote",), "a multicast group needs a parent", "add parent: NAME")
