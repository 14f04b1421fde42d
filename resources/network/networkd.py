"""The files of systemd-networkd for links, addresses and routes.

Each resource writes a drop-in of its own. It belongs to the `.network` file by which networkd manages the link now, such
as that of netplan; if there is none, to a file of ours that only names the link.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from reactor.resources.managed_header import HEADER
from reactor.resources.network.boot_files import Base, BootFile, BootRoute, file_name
from reactor.resources.network.property_types import IPInterface

if TYPE_CHECKING:  # the imported module imports this one
    from reactor.resources.network.link_properties import LinkProperties

DIRECTORY: Final = "/etc/systemd/network"
_LINKS: Final = "/run/systemd/netif/links"
"""Where networkd says by which file it manages each link, by the index of the link."""
_SYS: Final = "/sys/class/net"
_BELOW: Final = {"vlan": "VLAN", "macvlan": "MACVLAN", "vxlan": "VXLAN"}
"""The keys by which a link names the links that are made on it."""

Section = tuple[str, Mapping[str, object]]


def require() -> None:
    """Do nothing: every host with systemd has networkd, and whether it runs is the matter of a `service`."""


def address_file(link: str, address: IPInterface, *, present: bool) -> BootFile:
    """The drop-in of one address."""
    text = _text([("Address", {"Address": address})]) if present else None
    return _drop_in(link, f"address-{file_name(str(address))}", text)


def route_file(link: str, route: BootRoute, *, present: bool) -> BootFile:
    """The drop-in of one route."""
    keys = {
        "Destination": route.network,
        "Gateway": route.gateway,
        "Metric": route.metric,
        "Table": route.table,
    }
    return _drop_in(link, f"route-{route.file_name}", _text([("Route", keys)]) if present else None)


def link_files(wanted: LinkProperties) -> Iterator[BootFile]:
    """The drop-in of a link; if the link has a type, also the file that creates it, and the drop-in of its parent."""
    present = wanted.ensure == "present"
    name = wanted.interface
    yield _drop_in(name, "link", _text(_settings(wanted)) if present else None)
    if wanted.type is not None:
        yield BootFile(f"{DIRECTORY}/10-reactor-{name}.netdev", _text(_device(wanted)) if present else None)
        if wanted.parent is not None:
            key = _BELOW[wanted.type]
            yield _drop_in(
                wanted.parent, f"link-{name}", _text([("Network", {key: name})]) if present else None
            )


def _settings(wanted: LinkProperties) -> Iterator[Section]:
    policy = "down" if wanted.state == "down" else None
    own = {"MACAddress": wanted.address, "MTUBytes": wanted.mtu, "ActivationPolicy": policy}
    yield "Link", own
    if wanted.master is not None:
        is_bond = os.path.exists(f"{_SYS}/{wanted.master}/bonding")
        yield "Network", {"Bond" if is_bond else "Bridge": wanted.master}


def _device(wanted: LinkProperties) -> Iterator[Section]:
    yield "NetDev", {"Name": wanted.interface, "Kind": wanted.type, "MACAddress": wanted.address}
    match wanted.type:
        case "veth":
            yield "Peer", {"Name": wanted.peer}
        case "vlan":
            yield "VLAN", {"Id": wanted.id}
        case "macvlan":
            yield "MACVLAN", {"Mode": wanted.mode or "bridge"}
        case "bond":
            yield "Bond", {"Mode": wanted.mode or "balance-rr"}
        case "vxlan":
            is_group = wanted.remote is not None and ipaddress.ip_address(wanted.remote).is_multicast
            alone = "yes" if wanted.parent is None else None
            key = "Group" if is_group else "Remote"
            yield (
                "VXLAN",
                {"VNI": wanted.id, key: wanted.remote, "DestinationPort": 4789, "Independent": alone},
            )


def _drop_in(link: str, name: str, text: str | None) -> BootFile:
    used = _used_file(link)
    own = f"10-reactor-{link}.network"
    base = Base(f"{DIRECTORY}/{own}", _text([("Match", {"Name": link})])) if used in (None, own) else None
    return BootFile(f"{DIRECTORY}/{used or own}.d/reactor-{name}.conf", text, base)


def _used_file(link: str) -> str | None:
    """The name of the file by which networkd manages the link; None if it does not."""
    try:
        with open(f"{_SYS}/{link}/ifindex", encoding="ascii") as file:
            index = int(file.read())
        with open(f"{_LINKS}/{index}", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return None
    named = (line.partition("=")[2] for line in lines if line.startswith("NETWORK_FILE="))
    return next(map(os.path.basename, named), None) or None


def _text(sections: Iterable[Section]) -> str:
    """The content of a file. Keys without a value are left out, and sections without keys."""
    parts = [HEADER]
    for title, keys in sections:
        if lines := [f"{key}={value}\n" for key, value in keys.items() if value is not None]:
            parts.append("".join([f"[{title}]\n", *lines]))
    return "\n".join(parts)
