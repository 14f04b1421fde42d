"""The files of ifupdown for links, addresses and routes, below /etc/network/interfaces.d.

Each resource writes a stanza of its own. ifupdown carries out all stanzas of a link, in the order of the names of their
files; that of the link itself comes first. Links are made and set by ip(8), so no other package is needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from reactor import ResourceError
from reactor.resources import textfile
from reactor.resources.managed_header import HEADER
from reactor.resources.network.boot_files import BootFile, BootRoute, file_name
from reactor.resources.network.property_types import IPV4, IPInterface

if TYPE_CHECKING:  # the imported module imports this one
    from reactor.resources.network.link_properties import LinkProperties

DIRECTORY: Final = "/etc/network/interfaces.d"
_MAIN: Final = "/etc/network/interfaces"
_PROGRAM: Final = "/usr/sbin/ifup"
_PROGRAMS: Final = ("/sbin/ifup", _PROGRAM)


def require() -> None:
    """Raise ResourceError unless the host has ifupdown, and it reads our directory."""
    if not any(map(os.path.exists, _PROGRAMS)):
        raise ResourceError("this host has no ifupdown", "install the package ifupdown", missing=_PROGRAM)
    lines = (textfile.read(_MAIN) or "").splitlines()
    sourced = [found[1] for line in lines if (found := re.fullmatch(r"\s*source\s+(\S+)\s*", line))]
    ours = f"{DIRECTORY}/{_name('x', '')}"
    if not any(fnmatchcase(ours, os.path.join("/etc/network", pattern)) for pattern in sourced):
        words = f"{_MAIN} does not read the files in {DIRECTORY}"
        raise ResourceError(words, f"add the line: source {DIRECTORY}/*")


def address_file(link: str, address: IPInterface, *, present: bool) -> BootFile:
    """The stanza of one address."""
    family = "inet" if address.version == IPV4 else "inet6"
    stanza = _stanza(link, [f"address {address}"], family, "static")
    return _file(link, f"-address-{file_name(str(address))}", stanza if present else None)


def route_file(link: str, route: BootRoute, *, present: bool) -> BootFile:
    """The stanza of one route."""
    words = [str(route.network)]
    words += ["via", route.gateway] if route.gateway is not None else []
    words += ["dev", link]
    words += ["metric", str(route.metric)] if route.metric is not None else []
    selector = f"{' '.join(words)} table {route.table}"
    ip = f"ip -{route.network.version} route"
    stanza = _stanza(link, [f"up {ip} replace {selector}", f"down {ip} del {selector} || true"])
    return _file(link, f"-route-{route.file_name}", stanza if present else None)


def link_files(wanted: LinkProperties) -> Iterator[BootFile]:
    """The stanza of a link, which also makes it if it has a type."""
    present = wanted.ensure == "present"
    yield _file(wanted.interface, "", _stanza(wanted.interface, _commands(wanted)) if present else None)


def _commands(wanted: LinkProperties) -> Iterator[str]:
    name = wanted.interface
    for needed in filter(None, (wanted.parent, wanted.master)):
        yield f"pre-up ip link show dev {needed} >/dev/null 2>&1 || ifup {needed}"
    if wanted.type is not None:
        yield f"pre-up ip link show dev {name} >/dev/null 2>&1 || ip link add {' '.join(_device(wanted))}"
    for key, value in (("address", wanted.address), ("mtu", wanted.mtu)):
        if value is not None:
            yield f"pre-up ip link set dev {name} {key} {value}"
    if wanted.master is not None:
        yield f"pre-up ip link set dev {name} down"  # a bond takes no link that is up
        yield f"pre-up ip link set dev {name} master {wanted.master}"
    yield f"up ip link set dev {name} {wanted.state}"
    if wanted.type is not None:
        yield f"post-down ip link del dev {name} || true"


def _device(wanted: LinkProperties) -> Iterator[str]:
    """The words after ``ip link add``."""
    if wanted.parent is not None and wanted.type != "vxlan":
        yield f"link {wanted.parent}"
    yield f"name {wanted.interface} type {wanted.type}"
    match wanted.type:
        case "veth":
            yield f"peer name {wanted.peer}"
        case "vlan":
            yield f"id {wanted.id}"
        case "macvlan":
            yield f"mode {wanted.mode or 'bridge'}"
        case "bond":
            yield f"mode {wanted.mode or 'balance-rr'}"
        case "vxlan":
            yield f"id {wanted.id}"
            yield f"dev {wanted.parent}" if wanted.parent is not None else ""
            yield f"remote {wanted.remote}" if wanted.remote is not None else ""
            yield "dstport 4789"


def _stanza(link: str, options: Iterable[str], family: str = "inet", method: str = "manual") -> str:
    lines = [f"auto {link}", f"iface {link} {family} {method}", *(f"    {option}" for option in options)]
    return HEADER + "\n".join([*lines, ""])


def _name(link: str, rest: str) -> str:
    return f"reactor-{link}{rest}"


def _file(link: str, rest: str, text: str | None) -> BootFile:
    return BootFile(f"{DIRECTORY}/{_name(link, rest)}", text)
