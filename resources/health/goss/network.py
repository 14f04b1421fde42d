"""The rules ``addr``, ``interface`` and ``port``: addresses that answer, network interfaces, and listening ports."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any

import trio

from reactor import ResourceError, readable_text
from reactor.resources.health.goss.dns import refuse_no_answer
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import MILLISECOND, Milliseconds, Rule

_ADDRESS = re.compile(r"tcp://(?:\[([^\]]+)\]|([^:/]+)):(\d{1,5})")
_TABLES = "/proc/net"
"""The directory of the tables of the kernel. A kernel without IPv6 has no tables for it."""
_LISTEN = {"tcp": "0A", "udp": "07"}
"""States in /proc/net: TCP_LISTEN, and TCP_CLOSE for an unconnected UDP socket."""
_PORT = re.compile(r"(?:(tcp6?|udp6?):)?(\d{1,5})")


def _split_address(text: str) -> tuple[str, int]:
    """Host and port. Raises ValueError when ``text`` is not an address."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an address: write it as tcp://host:port")
    return match[1] or match[2], int(match[3])


Address = Annotated[str, readable_text(_split_address)]
"""An address such as ``tcp://host:port`` or ``tcp://[::1]:80``."""


class AddrRule(Rule):
    """An address that accepts connections. One connection is made and closed."""

    address: Address | None = None
    """The address; by default the key."""
    reachable: Expected = True
    timeout: Milliseconds = 500
    """The longest wait for an answer, in milliseconds."""
    local_address: str | None = None
    """The local address to connect from."""

    def check_key(self, key: str) -> None:
        """Check that the key is an address, unless ``address`` is given."""
        _split_address(self.address or key)

    async def find(self, key: str) -> Mapping[str, Any]:
        """Connect to the address. A timeout, a refusal and a name that is unknown or none mean that it is not reachable."""
        host, port = _split_address(self.address or key)
        try:
            with trio.fail_after(self.timeout * MILLISECOND):
                stream = await trio.open_tcp_stream(host, port, local_address=self.local_address)
                await trio.aclose_forcefully(stream)
        except socket.gaierror as error:
            refuse_no_answer(host, error)
            return {"reachable": False}
        except (OSError, UnicodeError, trio.TooSlowError):
            return {"reachable": False}
        return {"reachable": True}


class InterfaceRule(Rule):
    """A network interface and its addresses."""

    name: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    addrs: Expected = None
    mtu: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask the kernel for the interface. Addresses include the prefix length: ``192.0.2.1/24``."""
        from reactor.resources.network.address_table import addresses_of  # noqa: PLC0415 - imports the network kinds
        from reactor.resources.network.link_table import find_link  # noqa: PLC0415 - as above
        from reactor.resources.network.rtnetlink import RtnetlinkSocket  # noqa: PLC0415 - as above

        with RtnetlinkSocket(None) as kernel:
            link = await find_link(kernel, self.name or key)
            if link is None:
                return {"exists": False}
            addresses = await addresses_of(kernel, link["index"])
        return {"exists": True, "addrs": list(map(str, addresses)), "mtu": link.get_attr("IFLA_MTU")}


def _split_port(text: str) -> tuple[str, int]:
    """The network and the number. Raises ValueError when ``text`` is not a port."""
    match = _PORT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a port: write it as tcp:22, tcp6:22, udp:53 or udp6:53")
    return match[1] or "tcp", int(match[2])


Port = Annotated[str, readable_text(_split_port)]
"""``tcp:22``, ``tcp6:22``, ``udp:53``, ``udp6:53``; a bare number means tcp."""


class PortRule(Rule):
    """A local port. A socket that listens on all addresses of both families is found as tcp6 only, as in goss."""

    port: Port | None = None
    """The port; by default the key."""
    listening: Expected = True
    ip: Expected = None

    def check_key(self, key: str) -> None:
        """Check that the key is a port, unless ``port`` is given."""
        _split_port(self.port or key)

    async def find(self, key: str) -> Mapping[str, Any]:
        """Find the port in the kernel's table of sockets."""
        network, number = _split_port(self.port or key)
        addresses = [address for address, port in _listeners(network) if port == number]
        return {"listening": True, "ip": addresses} if addresses else {"listening": False}


def _listeners(network: str) -> Iterator[tuple[str, int]]:
    """The addresses and ports of a table of /proc/net, see proc_net_tcp.rst of the kernel."""
    wanted = _LISTEN[network[:3]]
    if not os.path.isdir(_TABLES):
        raise ResourceError(f"there is no {_TABLES}, which lists the listening sockets", "mount /proc")
    with suppress(FileNotFoundError), open(f"{_TABLES}/{network}", encoding="ascii") as table:
        next(table)
        for line in table:
            _, local, _, state, *_ = line.split()
            if state == wanted:
                address, _, port = local.partition(":")
                yield _address(address), int(port, 16)


def _address(text: str) -> str:
    """The address in ``text``: 32-bit words in the byte order of the machine, in hexadecimal."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, packed)
