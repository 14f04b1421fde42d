"""Property types of the network kinds, and the names by which their automatic edges are found."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator

from reactor import PropertyProblem, SandboxAccess, readable_text
from reactor.resources.ip_networks import IPNetwork, exact_network

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPInterface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

IPV4, IPV6 = 4, 6
FAMILIES = {IPV4: socket.AF_INET, IPV6: socket.AF_INET6}
"""The address families by IP version."""

LONGEST_LINK_NAME = 15
"""IFNAMSIZ less its final NUL."""

_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


def check_link_name(text: str) -> str:
    """Return ``text`` if it is a valid link name. Raises ValueError."""
    if not _NAME.fullmatch(text) or text in (".", ".."):
        raise ValueError(f"{text!r} is not a valid link name: use letters, digits and any of _ . + -")
    if len(text) > LONGEST_LINK_NAME:
        raise ValueError(f"the link name {text!r} is longer than {LONGEST_LINK_NAME} characters")
    return text


def _check_namespace(text: str) -> str:
    if not _NAME.fullmatch(text) or text in (".", ".."):
        raise ValueError(
            f"{text!r} is not a valid name of a network namespace: write one that `ip netns list` shows"
        )
    return text


def _check_mac(text: str) -> str:
    lower = text.lower()
    if not _MAC.fullmatch(lower):
        raise ValueError(f"{text!r} is not a MAC address: write it as 02:00:00:00:00:01")
    if int(lower[:2], 16) & 1 or lower == "00:00:00:00:00:00":
        raise ValueError(f"{text!r} is a group or empty address: the first byte must be even, and one not 0")
    return lower


def parse_ip(text: str) -> IPAddress:
    """Parse an IP address. Raises ValueError."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address: write it as 192.0.2.1 or 2001:db8::1") from None
    if "%" in text:
        raise ValueError(f"{text!r} names a link after %: write the address alone, and the link as `link`")
    return found


def parse_cidr(text: str) -> IPInterface:
    """Parse an address with its prefix length. Raises ValueError."""
    host, slash, length = text.partition("/")
    address = parse_ip(host)
    if not slash:
        example = f"{address}/{24 if address.version == IPV4 else 64}"
        raise ValueError(f"{text!r} has no prefix length: write it as {example}")
    if not (length.isascii() and length.isdigit() and int(length) <= address.max_prefixlen):
        raise ValueError(f"the prefix length in {text!r} must be a number from 0 to {address.max_prefixlen}")
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"{text!r} can't be the address of a link: it is unspecified, or a multicast group")
    return ipaddress.ip_interface(f"{address}/{length}")


def parse_network(text: str) -> IPNetwork:
    """Parse a network, or a single address. Raises ValueError, also for bits set after the prefix."""
    parse_ip(text.partition("/")[0])
    refusal = f"{text!r} is not a network: write it as 192.0.2.0/24, 2001:db8::/64 or default"
    return exact_network(text, refusal)


LinkName = Annotated[str, AfterValidator(check_link_name)]
"""The name of a network interface."""

NamespaceName = Annotated[str, AfterValidator(_check_namespace)]
"""The name of a network namespace below /run/netns."""

MacAddress = Annotated[str, AfterValidator(_check_mac)]
"""Six bytes in hexadecimal, in lower case."""

Persist = Literal["networkd", "ifupdown", "netplan"]
"""The network configuration of the host that is written for the next boot."""

IPText = Annotated[str, readable_text(parse_ip)]
"""An IPv4 or IPv6 address."""

CidrText = Annotated[str, readable_text(parse_cidr)]
"""An address with a prefix length."""


def persist_problem(netns: str | None, persist: str | None) -> Iterator[PropertyProblem]:
    """The problem with `persist` in a network namespace: the configuration of the host knows none."""
    if persist is not None and netns is not None:
        words = f"{persist} configures the network of the host, not a namespace"
        yield PropertyProblem(("persist",), words, "remove persist, or netns")


def needs_in(netns: str | None) -> Iterable[SandboxAccess]:
    """The sandbox access for changing the network in a namespace."""
    return (SandboxAccess.NETWORK,) if netns is None else (SandboxAccess.NETWORK, SandboxAccess.NAMESPACE)


def link_path(netns: str | None, link: str) -> str:
    """The path that represents a link in automatic edges: its directory in sysfs, or a path below its namespace."""
    return f"/sys/class/net/{link}" if netns is None else f"/run/netns/{netns}/{link}"


def addresses_path(netns: str | None, link: str, version: int) -> str:
    """The path that represents all IPv4 or IPv6 addresses of a link in automatic edges. There is no such file."""
    return f"{link_path(netns, link)}/ipv{version}"


def network_name(netns: str | None, network: IPNetwork) -> str:
    """The name that represents all addresses in a network, on any link, in automatic edges."""
    return qualified(netns, f"network {network}")


def qualified(netns: str | None, name: str) -> str:
    """A name that is unique among all network namespaces."""
    return name if netns is None else f"{name} in {netns}"
