"""Creates, changes and removes links."""

from __future__ import annotations

import errno
import ipaddress
from collections.abc import Sequence
from typing import Any

from reactor import ResourceError
from reactor.resources.network.link_observer import IFF_LOOPBACK, IFF_UP, kind_of
from reactor.resources.network.link_properties import BOND_MODES, TYPES, LinkProperties
from reactor.resources.network.link_table import COMES_BY_ITSELF, find_link, index_of
from reactor.resources.network.property_types import IPV4, IPV6
from reactor.resources.network.rtnetlink import NLM_F_CREATE, NLM_F_EXCL, RtnetlinkSocket, explained, message
from reactor.watchers.netlink_socket import Frame
from reactor.watchers.netlink_topics import RTM_DELLINK, RTM_NEWLINK

VXLAN_PORT = 4789
"""The port that IANA assigned. The default of the kernel is an older one."""

DEFAULT_MACVLAN_MODE = "bridge"
"""The default mode here. That of the kernel, vepa, needs a switch that sends packets back."""

_VXLAN_OVERHEAD = {IPV4: 50, IPV6: 70}
"""Bytes of the outer headers: Ethernet, IP, UDP and VXLAN (RFC 7348, section 5)."""

_MASTERS = ("bridge", "bond")
_ON_PARENT = ("vlan", "macvlan")
"""The types whose link is on one other, which bounds its MTU."""
_NO_MEMBER = (errno.EOPNOTSUPP, errno.ELOOP, errno.EINVAL)
"""The errors for a link that can't belong to its master."""

_ROLES = "a link is a member of one bridge or bond, or has macvlans on it, but not both: see ip -d link"

_ATTRIBUTES = {"address": "IFLA_ADDRESS", "mtu": "IFLA_MTU"}


async def create(wanted: LinkProperties) -> None:
    """Create the link, with all its properties. Raises ResourceError."""
    with RtnetlinkSocket(wanted.netns) as kernel:
        parent = None if wanted.parent is None else await index_of(kernel, wanted.parent)
        master = None if wanted.master is None else await index_of(kernel, wanted.master)
        await check_parent(kernel, wanted)
        with explained(f"create the {wanted.type} {wanted.interface}"):
            try:
                await kernel.change_slowly(creation(wanted, parent, master))
            except OSError as error:
                await _explain_refusal(kernel, wanted, error)
                raise
    if wanted.type == "bridge" and wanted.mtu is not None:
        await configure(wanted, ("mtu",))


async def configure(wanted: LinkProperties, names: Sequence[str], *, goes_down_first: bool = False) -> None:
    """Change the properties ``names`` in one request. Raises ResourceError."""
    with RtnetlinkSocket(wanted.netns) as kernel, explained(f"change {wanted.interface}"):
        index = await index_of(kernel, wanted.interface, COMES_BY_ITSELF)
        master = await index_of(kernel, wanted.master) if wanted.master and "master" in names else None
        if "mtu" in names:
            await check_parent(kernel, wanted)
        if goes_down_first:
            await kernel.change_slowly(message(RTM_NEWLINK, index=index, flags=0, change=IFF_UP))
        try:
            await kernel.change_slowly(change(wanted, names, index, master))
        except OSError as error:
            if error.errno in _NO_MEMBER and master is not None:
                await check_master(kernel, wanted)
            if error.errno == errno.EBUSY and master is not None:
                raise ResourceError(f"{wanted.interface} can't belong to {wanted.master}", _ROLES) from error
            raise


async def delete(wanted: LinkProperties) -> None:
    """Remove the link. Raises ResourceError."""
    with RtnetlinkSocket(wanted.netns) as kernel, explained(f"remove {wanted.interface}"):
        await kernel.change_slowly(message(RTM_DELLINK, index=await index_of(kernel, wanted.interface)))


async def check_master(kernel: RtnetlinkSocket, wanted: LinkProperties) -> None:
    """Raise ResourceError when the master can't have this member: the error of the kernel is only "not supported".

    Kinds of masters that reactor does not make, such as a VRF, are left to the kernel.
    """
    found = None if wanted.master is None else await find_link(kernel, wanted.master)
    if found is None:
        return
    kind = kind_of(found)
    if kind not in _MASTERS and (kind is None or kind in TYPES):
        words = f"{wanted.master} is neither a bridge nor a bond, so {wanted.interface} can't belong to it"
        raise ResourceError(words, "correct `master`, or make that link with type: bridge")
    member = await find_link(kernel, wanted.interface)
    if member is not None and member["flags"] & IFF_LOOPBACK:
        words = f"{wanted.interface} is the loopback link, and can't belong to {wanted.master}"
        raise ResourceError(words, "leave `master` out, or make a link for it with type: dummy")
    if kind == "bridge" and (wanted.type if member is None else kind_of(member)) == "bridge":
        words = f"{wanted.interface} is a bridge, and can't belong to {wanted.master}, which is one, too"
        raise ResourceError(
            words, f"connect them by a veth: give one end to {wanted.master}, the other to {wanted.interface}"
        )


async def _explain_refusal(kernel: RtnetlinkSocket, wanted: LinkProperties, error: OSError) -> None:
    """Raise a ResourceError with more detail than the error of the kernel has, if the cause can be found."""
    if error.errno == errno.EEXIST and wanted.peer and await find_link(kernel, wanted.peer) is not None:
        words = f"there is a link {wanted.peer}, which is not the other end of a veth {wanted.interface}"
        raise ResourceError(words, f"remove or rename it first: ip link delete {wanted.peer}") from error
    if error.errno == errno.EBUSY and wanted.parent:
        raise ResourceError(f"{wanted.interface} can't be on {wanted.parent}", _ROLES) from error
    if error.errno in _NO_MEMBER:
        await check_master(kernel, wanted)
    if error.errno == errno.EOPNOTSUPP:
        words = f"this kernel can't make a {wanted.type}: {error.strerror}"
        hint = "its module is missing: load or install it, or choose another type"
        raise ResourceError(words, hint) from error


async def check_parent(kernel: RtnetlinkSocket, wanted: LinkProperties) -> None:
    """Raise ResourceError when the parent does not allow the link as desired.

    The kernel would move a macvlan to another parent, refuse an MTU without a reason, or create a vxlan with a smaller
    MTU.
    """
    parent = await _parent_of(kernel, wanted)
    if parent is None:
        return
    name = parent.get_attr("IFLA_IFNAME")
    if wanted.type in _ON_PARENT and parent["flags"] & IFF_LOOPBACK:
        words = f"{name} is the loopback link, and can't have a {wanted.type} on it"
        raise ResourceError(words, "name another link in `parent`, or make one with type: dummy")
    if wanted.type == kind_of(parent) == "macvlan":
        words = f"{name} is a macvlan, and {wanted.interface} would be created on its parent instead"
        raise ResourceError(words, f"use that one as `parent`; see: ip link show {name}")
    needed, found = (wanted.mtu or 0) + _overhead(wanted), parent.get_attr("IFLA_MTU")
    if wanted.mtu is not None and found < needed:
        words = f"{name} has an mtu of {found}, and for {wanted.mtu} on {wanted.interface} it needs {needed}"
        raise ResourceError(words, f"raise it: ip link set {name} mtu {needed}")


async def _parent_of(kernel: RtnetlinkSocket, wanted: LinkProperties) -> Any:
    """The link below: `parent`, or what an existing vlan or macvlan is on. None if it is unknown, or in another namespace."""
    if wanted.parent is not None:
        return await find_link(kernel, wanted.parent)
    found = await find_link(kernel, wanted.interface)
    if found is None or kind_of(found) not in _ON_PARENT or found.get_attr("IFLA_LINK_NETNSID") is not None:
        return None
    return await find_link(kernel, found.get_attr("IFLA_LINK"))


def _overhead(wanted: LinkProperties) -> int:
    """The bytes that are added to its packets on the parent."""
    if wanted.type != "vxlan":
        return 0
    return _VXLAN_OVERHEAD[IPV4 if wanted.remote is None else ipaddress.ip_address(wanted.remote).version]


def creation(wanted: LinkProperties, parent: int | None, master: int | None) -> Frame:
    """The request for a new link. ``parent`` and ``master`` are link indexes.

    The MTU of a bridge is set later: a bridge takes the MTU of its ports, unless one was set after its creation.
    """
    info: list[tuple[str, Any]] = [("IFLA_INFO_KIND", wanted.type)]
    if data := _data(wanted, parent):
        info.append(("IFLA_INFO_DATA", {"attrs": data}))
    attrs: list[tuple[str, Any]] = [("IFLA_IFNAME", wanted.interface), ("IFLA_LINKINFO", {"attrs": info})]
    if parent is not None and wanted.type != "vxlan":
        attrs.append(("IFLA_LINK", parent))
    names = ("address", "state") if wanted.type == "bridge" else ("address", "mtu", "state")
    return _request(wanted, names, attrs, master, header=NLM_F_CREATE | NLM_F_EXCL)


def change(wanted: LinkProperties, names: Sequence[str], index: int, master: int | None) -> Frame:
    """The request to change the properties ``names``. ``master`` is a link index."""
    return _request(wanted, names, [], master, index=index)


def _request(
    wanted: LinkProperties,
    names: Sequence[str],
    attrs: list[tuple[str, Any]],
    master: int | None,
    **fields: int,
) -> Frame:
    managed = [(attr, getattr(wanted, name)) for name, attr in _ATTRIBUTES.items() if name in names]
    attrs += [(attr, value) for attr, value in managed if value is not None]
    if master is not None:
        attrs.append(("IFLA_MASTER", master))
    if "state" in names:
        fields |= {"flags": IFF_UP if wanted.state == "up" else 0, "change": IFF_UP}
    return message(RTM_NEWLINK, attrs, **fields)


def _data(wanted: LinkProperties, parent: int | None) -> list[tuple[str, Any]]:
    """The attributes that only links of this type have."""
    if wanted.type == "veth":
        return [("VETH_INFO_PEER", {"attrs": [("IFLA_IFNAME", wanted.peer)]})]
    if wanted.type == "vlan":
        return [("IFLA_VLAN_ID", wanted.id)]
    if wanted.type == "macvlan":
        return [("IFLA_MACVLAN_MODE", wanted.mode or DEFAULT_MACVLAN_MODE)]
    if wanted.type == "bond":
        return [] if wanted.mode is None else [("IFLA_BOND_MODE", BOND_MODES.index(wanted.mode))]
    return _vxlan_data(wanted, parent) if wanted.type == "vxlan" else []


def _vxlan_data(wanted: LinkProperties, parent: int | None) -> list[tuple[str, Any]]:
    data: list[tuple[str, Any]] = [("IFLA_VXLAN_ID", wanted.id), ("IFLA_VXLAN_PORT", VXLAN_PORT)]
    if parent is not None:
        data.append(("IFLA_VXLAN_LINK", parent))
    if wanted.remote is not None:
        is_ipv4 = ipaddress.ip_address(wanted.remote).version == IPV4
        data.append(("IFLA_VXLAN_GROUP" if is_ipv4 else "IFLA_VXLAN_GROUP6", wanted.remote))
    return data
