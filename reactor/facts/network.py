"""The facts ``network``: interfaces, the addresses others can reach, and the ones used to reach others."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from reactor.facts.gathering import Gatherer
from reactor.facts.netlink import Link, links

_FLAGS = {0x1: "up", 0x2: "broadcast", 0x8: "loopback", 0x10: "pointtopoint", 0x1000: "multicast"}
_FAR_IPV4 = (socket.AF_INET, "1.1.1.1")
_FAR_IPV6 = (socket.AF_INET6, "2001:4860:4860::8888")
"""Any address out there would do: which of ours the kernel would use is asked, nothing is sent."""

_DNS_PORT = 53
_NO_WAY = frozenset((
    errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EACCES, errno.EINVAL, errno.EPERM,
))  # fmt: skip
"""What the kernel says of a destination that has no route, a prohibited one, or whose protocol is off."""


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """The facts under ``network``; none when the kernel does not answer, which is not the same as no address."""
    return dict(gatherer({"network": network}).get("network", {}))


def network() -> dict[str, Any]:
    """The network as the kernel has it now."""
    found = links()
    ways = {4: _source_address(*_FAR_IPV4), 6: _source_address(*_FAR_IPV6)}
    addresses = [address for link in found for address in _reachable(link, set(ways.values()))]
    known = {each["address"] for each in addresses}
    return {
        "interfaces": [_interface(link) for link in found],
        "addresses": addresses,
        "default_ipv4": ways[4] if ways[4] in known else "",
        "default_ipv6": ways[6] if ways[6] in known else "",
    }


def _interface(link: Link) -> dict[str, Any]:
    return {
        "index": link.index,
        "mtu": link.mtu,
        "name": link.name,
        "hardwareAddr": link.hardware.hex(":") if any(link.hardware) else "",
        "flags": [name for flag, name in _FLAGS.items() if link.flags & flag],
        "addrs": [{"addr": f"{address}/{prefix}"} for address, prefix in link.addresses],
    }


def _reachable(link: Link, ways: set[str]) -> Iterator[dict[str, Any]]:
    """The addresses of an interface that mean something beyond it."""
    versions = {ip_address(address).version for address, _ in link.addresses if address in ways}
    for text, _ in link.addresses:
        address = ip_address(text)
        if address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified:
            continue
        yield {
            "interface": link.name,
            "address": text,
            "ipv4": address.version == 4,  # noqa: PLR2004 - the version of the protocol is its name
            "default": address.version in versions,
        }


def _source_address(family: socket.AddressFamily, destination: str) -> str:
    """Our address on the way to ``destination``, or an empty text when there is no way. Raises OSError."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect((destination, _DNS_PORT))
            return str(probe.getsockname()[0])
    except OSError as error:
        if error.errno not in _NO_WAY:
            raise
        return ""
