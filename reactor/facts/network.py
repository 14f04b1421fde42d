"""The facts ``network``: interfaces, addresses that others can reach, and source addresses to reach others.

The kernel lists interfaces and addresses over one rtnetlink socket: see rtnetlink(7). This takes two requests and a
few fixed structures; importing pyroute2 for it would take a tenth of a second.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from reactor.facts.gathering import Gatherer

_RTM_NEWLINK, _RTM_GETLINK, _RTM_NEWADDR, _RTM_GETADDR = 16, 18, 20, 22
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_NLM_F_REQUEST_DUMP = 0x301
_NLM_F_DUMP_INTR = 0x10
_ATTEMPTS = 10
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU = 1, 3, 4
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_MESSAGE = struct.Struct("=IHHII")  # length, type, flags, sequence, port: nlmsghdr
_LINK = struct.Struct("=BxHiII")  # family, type, index, flags, change: ifinfomsg
_ADDRESS = struct.Struct("=BBBBi")  # family, prefix length, flags, scope, index: ifaddrmsg
_ATTRIBUTE = struct.Struct("=HH")  # length, type: rtattr
_TYPE_MASK = 0x3FFF
_BUFFER = 256 * 1024


@dataclass
class Link:
    """A network interface. ``flags`` are IFF_*; each of ``addresses`` includes its prefix length."""

    index: int
    name: str
    flags: int
    mtu: int
    hardware: bytes
    addresses: list[tuple[str, int]] = field(default_factory=list)


class _InterruptedError(OSError):
    """The interfaces changed while the kernel listed them, so the list may be incomplete."""


def links() -> list[Link]:
    """Return all interfaces of this network namespace, by index. Raises OSError."""
    for _ in range(_ATTEMPTS):
        with suppress(_InterruptedError):
            return _links()
    raise OSError(errno.EAGAIN, "the interfaces change too fast to be listed")


def _links() -> list[Link]:
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as kernel:
        kernel.bind((0, 0))
        found = {link.index: link for link in map(_link, _dump(kernel, _RTM_GETLINK, _LINK))}
        for body in _dump(kernel, _RTM_GETADDR, _ADDRESS):
            family, prefix, _, _, index = _ADDRESS.unpack_from(body)
            attributes = _attributes(body[_ADDRESS.size :])
            # On a point-to-point link, IFA_ADDRESS is the address of the other end.
            address = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
            if address and index in found and family in (socket.AF_INET, socket.AF_INET6):
                found[index].addresses.append((socket.inet_ntop(family, address), prefix))
    return [found[index] for index in sorted(found)]


def _link(body: bytes) -> Link:
    _, _, index, flags, _ = _LINK.unpack_from(body)
    attributes = _attributes(body[_LINK.size :])
    return Link(
        index=index,
        name=attributes[_IFLA_IFNAME].rstrip(b"\0").decode(errors="replace"),
        flags=flags,
        mtu=int.from_bytes(attributes.get(_IFLA_MTU, b""), sys.byteorder),
        hardware=attributes.get(_IFLA_ADDRESS, b""),
    )


def _dump(kernel: socket.socket, request: int, header: struct.Struct) -> Iterator[bytes]:
    """Send a dump request, and yield the body of each message of the response."""
    empty = bytes(header.size)
    kernel.send(_MESSAGE.pack(_MESSAGE.size + len(empty), request, _NLM_F_REQUEST_DUMP, 0, 0) + empty)
    while True:
        received = kernel.recv(_BUFFER)
        while received:
            length, kind, flags, *_ = _MESSAGE.unpack_from(received)
            if flags & _NLM_F_DUMP_INTR:
                raise _InterruptedError
            body, received = received[_MESSAGE.size : length], received[_aligned(length) :]
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                raise OSError(-struct.unpack_from("=i", body)[0], "the kernel lists no interfaces")
            if kind in (_RTM_NEWLINK, _RTM_NEWADDR):
                yield body


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        found[kind & _TYPE_MASK] = data[_ATTRIBUTE.size : length]
        data = data[_aligned(length) :]
    return found


def _aligned(length: int) -> int:
    """Round up to a multiple of 4, where the next message or attribute starts."""
    return max(4, (length + 3) & ~3)


_FLAGS = {0x1: "up", 0x2: "broadcast", 0x8: "loopback", 0x10: "pointtopoint", 0x1000: "multicast"}
_FAR_IPV4 = (socket.AF_INET, "1.1.1.1")
_FAR_IPV6 = (socket.AF_INET6, "2001:4860:4860::8888")
"""Any public address works: the kernel selects our source address for it, and no packet is sent."""

_DNS_PORT = 53
_NO_WAY = frozenset((
    errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EACCES, errno.EINVAL, errno.EPERM,
))  # fmt: skip
"""The errors for a destination without a route, with a prohibited route, or whose protocol is disabled."""


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """Return the facts under ``network``; none if the kernel does not answer: unknown is not the same as empty."""
    return dict(gatherer({"network": network}).get("network", {}))


def network() -> dict[str, Any]:
    """Return the current network configuration of the kernel."""
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
    """Yield the addresses of an interface that other hosts can reach."""
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
    """Return our source address for ``destination``, or an empty string without a route. Raises OSError."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect((destination, _DNS_PORT))
            return str(probe.getsockname()[0])
    except OSError as error:
        if error.errno not in _NO_WAY:
            raise
        return ""
