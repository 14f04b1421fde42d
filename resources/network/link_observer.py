"""Reads the state of a link, and recognizes one that was renamed."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, Final

from reactor.hostfs import read_record, write_record
from reactor.resources.network.link_properties import BOND_MODES, LinkProperties
from reactor.resources.network.link_state import LinkState
from reactor.resources.network.link_table import find_link, name_of
from reactor.resources.network.routing_table import carries_default_route
from reactor.resources.network.rtnetlink import RtnetlinkSocket, decoded, message
from reactor.watchers.netlink_topics import RTM_GETLINK

IFF_UP = 0x1
IFF_LOOPBACK = 0x8
_ID: Final = {"vlan": "IFLA_VLAN_ID", "vxlan": "IFLA_VXLAN_ID"}
_REMOTE = ("IFLA_VXLAN_GROUP", "IFLA_VXLAN_GROUP6")
_BOOT = "/proc/sys/kernel/random/boot_id"
_KIND = "link"
_ANONYMOUS = "00:00:00:00:00:00"


async def observe(kernel: RtnetlinkSocket, wanted: LinkProperties) -> LinkState | None:
    """The link; None if it does not exist. Raises OSError for an error of the kernel."""
    found = await find_link(kernel, wanted.interface)
    if found is None:
        return None
    kind = kind_of(found)
    is_endangered = wanted.ensure == "absent" or wanted.state == "down"
    return LinkState(
        state="up" if found["flags"] & IFF_UP else "down",
        mtu=found.get_attr("IFLA_MTU"),
        address=found.get_attr("IFLA_ADDRESS"),
        type=kind,
        master=await name_of(kernel, found.get_attr("IFLA_MASTER")) if wanted.master else None,
        parent=await name_of(kernel, _parent(found, kind)) if wanted.parent else None,
        **_made_with(found, kind),
        carries_default=is_endangered and await carries_default_route(kernel, found["index"]),
        joins_down=wanted.master is not None and await _is_bond(kernel, wanted.master),
        index=found["index"],
    )


def kind_of(found: Any) -> str | None:
    """The type of a link as the kernel names it; None for a physical one."""
    kind: str | None = found.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND")
    return kind


def _parent(found: Any, kind: str | None) -> Any:
    return _data(found, "IFLA_VXLAN_LINK") if kind == "vxlan" else found.get_attr("IFLA_LINK")


def _made_with(found: Any, kind: str | None) -> dict[str, Any]:
    """The id, mode and remote address, if the type has them."""
    if kind in _ID:
        remotes = [_data(found, name) for name in _REMOTE] if kind == "vxlan" else []
        return {"id": _data(found, _ID[kind]), "remote": next(filter(None, remotes), None)}
    if kind == "macvlan":
        return {"mode": _data(found, "IFLA_MACVLAN_MODE")}
    if kind == "bond":
        return {"mode": BOND_MODES[_data(found, "IFLA_BOND_MODE")]}
    return {}


def _data(found: Any, name: str) -> Any:
    return found.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA", name)


async def _is_bond(kernel: RtnetlinkSocket, name: str) -> bool:
    found = await find_link(kernel, name)
    return found is not None and kind_of(found) == "bond"


class Renames:
    """Recognizes a renamed link: stores its index, hardware address and boot in the state directory."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: dict[str, Any] | None = None

    def record(self, state: LinkState) -> None:
        """Store the identity of the link, if it is new. If that fails, it is kept in memory."""
        seen = {"index": state.index, "address": state.address, "boot": _boot()}
        if self._last() != seen:
            self._seen = seen
            with suppress(OSError):
                write_record(_KIND, self._name, seen)

    async def found(self, kernel: RtnetlinkSocket, wanted: LinkProperties) -> str | None:
        """A message about a link that had this name before, or has the desired hardware address; None without one.

        Raises OSError for an error of the kernel.
        """
        last = self._last() or {}
        if last.get("boot") == _boot() and isinstance(index := last.get("index"), int):
            link = await find_link(kernel, index)
            if link is not None and link.get_attr("IFLA_ADDRESS") == last.get("address"):
                other = link.get_attr("IFLA_IFNAME")
                return f"{wanted.interface} is gone: the link {other} had this name until it was renamed"
        if wanted.address is not None and (other := await _with_address(kernel, wanted.address)):
            return f"{wanted.interface} does not exist: the link {other} has the address {wanted.address}"
        return None

    def _last(self) -> dict[str, Any] | None:
        if self._seen is None:
            self._seen = read_record(_KIND, self._name)
        return self._seen


async def _with_address(kernel: RtnetlinkSocket, address: str) -> str | None:
    """The name of the first link with that hardware address."""
    if address == _ANONYMOUS:
        return None
    links = [decoded(frame) for frame in await kernel.dump(message(RTM_GETLINK))]
    names = (link.get_attr("IFLA_IFNAME") for link in links if link.get_attr("IFLA_ADDRESS") == address)
    return next(names, None)


@cache
def _boot() -> str:
    with open(_BOOT, encoding="ascii") as file:
        return file.read().strip()
