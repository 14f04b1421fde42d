"""Opens the socket of a bus, and authenticates with a D-Bus library, which only this module imports.

dbus-next can't be imported on Python 3.15 and later; its maintained fork dbus-fast has the same modules. Either
imports asyncio, whose loop never runs here. The private names of both are used in this module and nowhere else.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any, Literal
from urllib.parse import unquote

import trio

LibraryName = Literal["dbus_next", "dbus_fast"]
DEFAULT: LibraryName = "dbus_next" if sys.version_info < (3, 15) else "dbus_fast"


class NoBusError(ConnectionError):
    """There is no bus to connect to, or the connection has ended."""


class CallError(Exception):
    """A call was answered with an error. ``name`` is the name of the D-Bus error, ``text`` its message for people."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{text} ({name})")
        self.name = name
        self.text = text


async def open_stream(address: str, handshake: Handshake) -> trio.SocketStream:
    """Connect and authenticate; then the stream carries messages.

    Raises NoBusError if the bus is missing or refuses.
    """
    stream = await _connect(address)
    try:
        await _authenticate(stream, handshake)
    except BaseException as error:
        await trio.aclose_forcefully(stream)
        if isinstance(error, (NoBusError, trio.BrokenResourceError)):
            raise NoBusError(f"the bus at {address} refused the connection") from error
        raise
    return stream


async def _authenticate(stream: trio.SocketStream, handshake: Handshake) -> None:
    await stream.send_all(f"\0{handshake.begin()}\r\n".encode())
    answer, line = "", b""
    while answer != "BEGIN":
        while not line.endswith(b"\r\n"):  # before BEGIN, the bus sends one line at a time
            chunk = await stream.receive_some(4096)
            if not chunk:
                raise NoBusError("it hung up")
            line += chunk
        answer, line = handshake.answer(line[:-2].decode()), b""
        await stream.send_all(f"{answer}\r\n".encode())


async def _connect(address: str) -> trio.SocketStream:
    """Connect to the first Unix socket in ``address`` on which a bus listens. Raises NoBusError when there is none."""
    reasons = []
    for path in _socket_paths(address):
        sock = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
        try:
            await sock.connect(path)
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError):
                raise
            reasons.append(error.strerror or str(error))
        else:
            return trio.SocketStream(sock)
    raise NoBusError(f"no bus at {address}: {', '.join(reasons) or 'no Unix socket in this address'}")


def _socket_paths(address: str) -> list[str]:
    """The sockets in an address such as ``unix:path=/run/dbus/system_bus_socket;unix:abstract=x``."""
    paths = []
    for entry in address.split(";"):
        transport, _, rest = entry.partition(":")
        options = dict(option.partition("=")[::2] for option in rest.split(","))
        if transport == "unix" and "path" in options:
            paths.append(unquote(options["path"]))
        elif transport == "unix" and "abstract" in options:
            paths.append("\0" + unquote(options["abstract"]))
    return paths


class Library:
    """The parts of a D-Bus library that are used here."""

    def __init__(self, name: LibraryName) -> None:
        self._external = import_module(f"{name}.auth").AuthExternal
        self._refusal = import_module(f"{name}.errors").AuthError

    def handshake(self) -> Handshake:
        """The authentication of a new connection."""
        return Handshake(self._external(), self._refusal)


class Handshake:
    """The authentication of this process, line by line. The lines are without line ends."""

    def __init__(self, external: Any, refusal: type[Exception]) -> None:
        self._external = external
        self._refusal = refusal

    def begin(self) -> str:
        """The first line to send."""
        return str(self._external._authentication_start())  # noqa: SLF001

    def answer(self, line: str) -> str:
        """The answer to a line; after BEGIN, messages follow. Raises NoBusError when the bus refuses."""
        try:
            return str(self._external._receive_line(line))  # noqa: SLF001
        except self._refusal as error:
            raise NoBusError(str(error)) from error


@cache
def library(name: LibraryName = DEFAULT) -> Library:
    """The library, imported when it is first needed."""
    return Library(name)
