"""Addresses to listen on, as the user writes them, and host names that mean this host."""

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
    """That is no address to listen on; the text says what one looks like."""

    code = "R0702"


class Address(NamedTuple):
    """An IP address and a TCP port; port 0 lets the system choose."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this host can reach it."""
        return ip_address(self.host).is_loopback

    @property
    def as_reached(self) -> Address:
        """What to tell those who are to reach it: where every address of this host is meant, the host's name."""
        everywhere = ip_address(self.host).is_unspecified
        return Address(socket.gethostname(), self.port) if everywhere else self

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """``127.0.0.1:9469``, ``localhost:9469`` or ``[::1]:9469``. Raises AddressError.

    Names are not looked up: which address one means may change, and with it who can reach us.
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
        raise AddressError(f"there is no port {port}: they end at {_LARGEST_PORT}")
    return Address(host, port)


def names_loopback(host: str) -> bool:
    """Whether the header ``Host`` holds a name that means this host everywhere.

    Any port will do, for ``ssh -L`` may have another; a name that others own will not, for it may lead elsewhere.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
