"""The properties of the kind `link`, and which of them go together."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

from pydantic import Field

from reactor import Flag, PropertyProblem, Resource
from reactor.resources.network.properties import (
    IPText,
    LinkName,
    MacAddress,
    NamespaceName,
    check_link_name,
    fault_of_name,
)

if TYPE_CHECKING:  # that module imports this one
    from reactor.resources.network.link_state import LinkState  # noqa: F401 - the string below names it

LinkType = Literal["bridge", "veth", "vlan", "macvlan", "vxlan", "bond", "dummy"]


class Made(NamedTuple):
    """What is to be said of a link of one type when it is made."""

    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()
    ids: range = range(0)
    modes: tuple[str, ...] = ()


MACVLAN_MODES = ("bridge", "private", "vepa", "passthru")
BOND_MODES = (
    "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb",
)  # fmt: skip
"""In the order of the kernel's numbers for them."""

TYPES: Final[dict[str, Made]] = {
    "bridge": Made(),
    "veth": Made(needs=("peer",)),
    "vlan": Made(needs=("parent", "id"), ids=range(1, 4095)),
    "macvlan": Made(needs=("parent",), may_have=("mode",), modes=MACVLAN_MODES),
    "vxlan": Made(needs=("id",), may_have=("parent", "remote"), ids=range(1 << 24)),
    "bond": Made(may_have=("mode",), modes=BOND_MODES),
    "dummy": Made(),
}

_MADE_WITH = ("peer", "parent", "id", "mode", "remote")
_EXAMPLES = {"peer": "peer: NAME", "parent": "parent: NAME", "id": "id: 5"}


class LinkProperties(Resource["LinkState | None"]):
    """What can be said of a link."""

    ensure: Literal["present", "absent"] = "present"
    link: LinkName | None = None
    """The name of the link, such as eth0; without it the name of the resource is it."""
    type: LinkType | None = None
    """What to make it as; without it, it is there already or comes by itself."""
    peer: LinkName | None = None
    """Of a veth: its other end, made with it."""
    parent: LinkName | None = None
    """Of a vlan, macvlan or vxlan: the link it is on."""
    id: int | None = None
    """The number of a vlan or vxlan."""
    mode: str | None = None
    """Of a macvlan (bridge unless said) or a bond (balance-rr unless said)."""
    remote: IPText | None = None
    """Of a vxlan: the other end, or a group of them."""
    state: Literal["up", "down"] = "up"
    """Whether it is to be up."""
    mtu: Annotated[int, Field(ge=68, le=65536)] | None = None
    """Its longest packet, in bytes."""
    master: LinkName | None = None
    """The bridge or bond that it belongs to."""
    address: MacAddress | None = None
    """Its MAC address."""
    netns: NamespaceName | None = None
    """The network namespace to act in."""
    force: Flag = False
    """Whether it may cut off the default route, and replace a link that was made as something else."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Adds a name that is none, what does not go with the type, and a link that is its own relative."""
        yield from super().property_problems()
        if self.link is None:
            yield from fault_of_name(check_link_name, self.name, "link")
        for relation in ("peer", "parent", "master"):
            if getattr(self, relation) == self.interface:
                yield PropertyProblem((relation,), f"a link can't be its own {relation}", "name another")
        yield from self._strangers()
        if self.type is not None and self.ensure == "present":
            yield from self._misfits(self.type, TYPES[self.type])

    @property
    def interface(self) -> str:
        """The name of the link."""
        return self.link or self.name

    def _strangers(self) -> Iterable[PropertyProblem]:
        """What is said of how it is made, and does not go with its type."""
        made = TYPES[self.type] if self.type is not None else Made()
        for name in _MADE_WITH:
            if getattr(self, name) is not None and name not in (*made.needs, *made.may_have):
                owners = [kind for kind, each in TYPES.items() if name in (*each.needs, *each.may_have)]
                subject = f"a {self.type}" if self.type is not None else "a link without a type"
                hint = f"remove it, or write type: {' or '.join(owners)}"
                yield PropertyProblem((name,), f"{subject} has no {name}", hint)

    def _misfits(self, kind: str, made: Made) -> Iterable[PropertyProblem]:
        """What is missing, or not among the values its type takes."""
        for name in made.needs:
            if getattr(self, name) is None:
                yield PropertyProblem(("type",), f"a {kind} needs {name}", f"add {_EXAMPLES[name]}")
        if self.id is not None and made.ids and self.id not in made.ids:
            words = f"the id of a {kind} is from {made.ids.start} to {made.ids.stop - 1}, not {self.id}"
            yield PropertyProblem(("id",), words, "choose another")
        if self.mode is not None and made.modes and self.mode not in made.modes:
            words = f"{self.mode!r} is no mode of a {kind}"
            yield PropertyProblem(("mode",), words, f"choose one of {', '.join(made.modes)}")
        if self.remote is not None and self.parent is None and ipaddress.ip_address(self.remote).is_multicast:
            yield PropertyProblem(("remote",), "a group is reached through one link", "add parent: NAME")
