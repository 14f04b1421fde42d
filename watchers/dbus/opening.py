"""Opens the way to a bus: finds its socket and says who we are."""

from __future__ import annotations

from urllib.parse import unquote

import trio

from reactor.watchers.dbus.errors import NoBusError
from reactor.watchers.dbus.library import Handshake


async def open_stream(address: str, handshake: Handshake) -> trio.SocketStream:
    """A stream on which messages follow. Raises NoBusError when nobody listens, or we are turned away."""
    stream = await _connect(address)
    try:
        await _authenticate(stream, handshake)
    except BaseException as error:
        await trio.aclose_forcefully(stream)
        if isinstance(error, (NoBusError, trio.BrokenResourceError)):
            raise NoBusError(f"the bus at {address} turned us away") from error
        raise
    return stream


async def _authenticate(stream: trio.SocketStream, handshake: Handshake) -> None:
    await stream.send_all(f"\0{handshake.begin()}\r\n".encode())
    answer, line = "", b""
    while answer != "BEGIN":
        while not line.endswith(b"\r\n"):  # the bus never says two things in a row before BEGIN
            chunk = await stream.receive_some(4096)
            if not chunk:
                raise NoBusError("it hung up")
            line += chunk
        answer, line = handshake.answer(line[:-2].decode()), b""
        await stream.send_all(f"{answer}\r\n".encode())


async def _connect(address: str) -> trio.SocketStream:
    """Connect to the first of the Unix sockets in ``address`` that listens. Raises NoBusError when none does."""
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
