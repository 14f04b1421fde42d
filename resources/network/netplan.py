"""The files of netplan for links, addresses and routes: each resource has one, and netplan merges them.

netplan joins the lists of all files and takes the last of other values, but a link must be in the same section
everywhere, such as ``bridges``. So the section is that of the file that defines the link, else that of its type.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from reactor import ResourceError
from reactor.resources import textfile
from reactor.resources.managed_header import HEADER
from reactor.resources.network.boot_files import BootFile, BootRoute, file_name
from reactor.resources.network.property_types import IPInterface

if TYPE_CHECKING:  # the imported module imports this one
    from reactor.resources.network.link_properties import LinkProperties

DIRECTORY: Final = "/etc/netplan"
SECTIONS: Final = {"bridge": "bridges", "vlan": "vlans", "vxlan": "tunnels", "bond": "bonds"}
"""The sections of the types of links that netplan makes."""
_PHYSICAL: Final = "ethernets"
_PLACES: Final = ("/lib/netplan", DIRECTORY, "/run/netplan")
_PROGRAM: Final = "/usr/sbin/netplan"
_SECRET_MODE: Final = 0o600
"""netplan warns of files that others can read."""
_SYS: Final = "/sys/class/net"


def require() -> None:
    """Raise ResourceError unless the host has netplan."""
    if not os.path.exists(_PROGRAM):
        raise ResourceError("this host has no netplan", "install the package netplan.io", missing=_PROGRAM)


def address_file(link: str, address: IPInterface, *, present: bool) -> BootFile:
    """The file of one address."""
    settings = {"addresses": [str(address)]}
    return _file(link, f"-address-{file_name(str(address))}", _of(link, settings) if present else None)


def route_file(link: str, route: BootRoute, *, present: bool) -> BootFile:
    """The file of one route."""
    keys = {"to": str(route.network), "via": route.gateway, "metric": route.metric, "table": route.table}
    if route.gateway is None:
        keys["scope"] = "link"
    settings = {"routes": [_without_none(keys)]}
    return _file(link, f"-route-{route.file_name}", _of(link, settings) if present else None)


def link_files(wanted: LinkProperties) -> Iterator[BootFile]:
    """The file of a link. With a ``parent`` or a ``master``, it names these too, as netplan requires."""
    if wanted.ensure == "absent":
        yield _file(wanted.interface, "", None)
        return
    name = wanted.interface
    settings = _without_none({
        "macaddress": wanted.address, "mtu": wanted.mtu,
        "activation-mode": "manual" if wanted.state == "down" else None,
    })  # fmt: skip
    section = SECTIONS[wanted.type] if wanted.type is not None else _section_of(name)
    network: dict[str, dict[str, object]] = {section: {name: {**settings, **_device(wanted)}}}
    if wanted.parent is not None:
        network.setdefault(_section_of(wanted.parent), {})[wanted.parent] = {}
    if wanted.master is not None:
        network.setdefault(_section_of(wanted.master), {})[wanted.master] = {"interfaces": [name]}
    yield _file(name, "", network)


def _device(wanted: LinkProperties) -> Mapping[str, object]:
    match wanted.type:
        case "vlan":
            return {"id": wanted.id, "link": wanted.parent}
        case "bond":
            return {"parameters": {"mode": wanted.mode or "balance-rr"}}
        case "vxlan":
            keys = {
                "mode": "vxlan",
                "id": wanted.id,
                "remote": wanted.remote,
                "port": 4789,
                "link": wanted.parent,
            }
            return _without_none(keys)
        case _:
            return {}


def _of(link: str, settings: Mapping[str, object]) -> Mapping[str, Any]:
    """The settings in the section of ``link``."""
    return {_section_of(link): {link: settings}}


def _section_of(link: str) -> str:
    """The section in which the files of netplan define ``link``, else that of its type in the kernel."""
    for path in (path for place in _PLACES for path in sorted(glob.glob(f"{place}/*.yaml"))):
        for section, links in _sections(path):
            if link in links:
                return section
    return SECTIONS.get(_kernel_type(link), _PHYSICAL)


def _sections(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import yaml  # noqa: PLC0415 - a host without netplan does not need it

    try:
        data = yaml.safe_load(textfile.read(path) or "")
    except yaml.YAMLError:
        return
    network = data.get("network") if isinstance(data, dict) else None
    for section, links in network.items() if isinstance(network, dict) else ():
        if isinstance(links, dict):
            yield section, links


def _kernel_type(link: str) -> str:
    with suppress(OSError), open(f"{_SYS}/{link}/uevent", encoding="ascii") as file:
        for line in file:
            key, _, value = line.rstrip("\n").partition("=")
            if key == "DEVTYPE":
                return value
    return ""


def _without_none(keys: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in keys.items() if value is not None}


def _file(link: str, rest: str, network: Mapping[str, object] | None) -> BootFile:
    path = f"{DIRECTORY}/90-reactor-{link}{rest}.yaml"
    if network is None:
        return BootFile(path, None)
    lines = ["network:", "  version: 2"]
    for section, links in network.items():
        lines.append(f"  {section}:")
        for name, settings in links.items():  # type: ignore[attr-defined]
            lines.append(f"    {json.dumps(name)}: {json.dumps(settings)}")
    return BootFile(path, HEADER + "\n".join([*lines, ""]), mode=_SECRET_MODE)
