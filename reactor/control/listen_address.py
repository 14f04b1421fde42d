"""Parses the addresses to listen on that the user gives, and recognizes host names that mean this host."""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from reactor.errors import ReactorError

_LARGEST_PORT = 65535
_WRITTEN = re.compile(r"(?:\[(?P<v6>[^]]*)\]|(?P<host>[^:]*)):(?P<port>[0-9]{1,5})")


class AddressError(ReactorError, ValueError):
    """The string is not an address to listen on; the message shows the right form."""

    code = "R0702"


class Address(NamedTuple):
    """An IP address and a TCP port; port 0 lets the kernel choose one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this host can reach it."""
        return ip_address(self.host).is_loopback

    @property
    def as_reached(self) -> Address:
        """The address for clients: if it means every address of this host, the name of the host replaces it."""
        everywhere = ip_address(self.host).is_unspecified
        return Address(socket.gethostname(), self.port) if everywhere else self

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse ``127.0.0.1:9469``, ``localhost:9469`` or ``[::1]:9469``. Raises AddressError.

    Other names are not resolved: the address of a name may change, and then other clients could connect.
    """
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise AddressError(f"{text!r} is not HOST:PORT, as in 127.0.0.1:9469 or [::1]:9469")
    host = written["v6"] if written["v6"] is not None else written["host"]
    try:
        host = str(ip_address("127.0.0.1" if host == "localhost" else host))
    except ValueError as error:
        raise AddressError(f"{host!r} is not an IP address, as in 127.0.0.1:9469 or [::1]:9469") from error
    if (port := int(written["port"])) > _LARGEST_PORT:
        raise AddressError(f"{port} is not a port: the largest is {_LARGEST_PORT}")
    return Address(host, port)


def names_loopback(host: str) -> bool:
    """Whether ``host``, a header ``Host``, always means this host, so that DNS rebinding can't use it.

    Any port is accepted, because ``ssh -L`` may forward another one.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
