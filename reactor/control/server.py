"""Serves HTTP on listening sockets, with a task for each connection; and the control socket in the state directory."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import trio

from reactor.control.connection_slots import ConnectionSlot, ConnectionSlots
from reactor.control.peer import Peer, peer_of, user_of
from reactor.journal.state_directory import SOCKET_FILE, short_socket_path
from reactor.resource.threads import in_thread

if TYPE_CHECKING:
    from reactor.control.run_handle import RunHandle

_RETRY_SECONDS = 1.0

BACKLOG = 1024
"""Connections that may wait to be accepted. Many, so that the slots limit connections, and not the kernel."""

MOST = 64
"""The most connections of one socket at a time: each takes an open file, and repairs need open files too."""


async def serve(listener: socket.socket, module: str, run_handle: Any, warn: Callable[[str], None]) -> None:
    """Serve ``application(run_handle, warn)`` of ``module``, until cancelled.

    The modules are imported in a thread when the first client connects: they take 8 MB and a tenth of a second, and many
    runs have no client.
    """
    await trio.lowlevel.wait_readable(listener)
    applications, connections = await _imported(module, "reactor.control.connection")
    handler = connections.connection_handler(applications.application(run_handle, warn), warn)
    await _serve_each(trio.SocketListener(trio.socket.from_stdlib_socket(listener)), handler)


async def _serve_each(
    listener: trio.SocketListener, handler: Callable[[trio.SocketStream, ConnectionSlot], Awaitable[None]]
) -> None:
    """Like `trio.serve_listeners`, with `ConnectionSlots`. Accepts one connection in each turn of the event loop."""
    places = ConnectionSlots(MOST)

    async def serve_one(stream: trio.SocketStream, place: ConnectionSlot) -> None:
        try:
            await handler(stream, place)
        finally:
            places.give_back(place)
            await trio.aclose_forcefully(stream)

    async with listener, trio.open_nursery() as nursery:
        while True:
            stream = await _accepted(listener)
            if (connected := _peer_of_new(stream)) is None:
                await trio.aclose_forcefully(stream)
            else:
                nursery.start_soon(serve_one, stream, await places.take_in_turn(*connected))


def _peer_of_new(stream: trio.SocketStream) -> tuple[Peer, bool] | None:
    """The peer of a new connection, and whether it is authenticated; None if it is refused, or closed already.

    On a Unix socket only our user and root are accepted.
    """
    try:
        if stream.socket.family == socket.AF_UNIX:
            user = user_of(stream.socket)
            return (("user", user), True) if user in (0, os.geteuid()) else None
        return peer_of(stream.socket), False
    except OSError:
        return None


async def _accepted(listener: trio.SocketListener) -> trio.SocketStream:
    """The next connection. It waits while the host has no free file descriptors."""
    while True:
        try:
            return await listener.accept()
        except OSError:
            await trio.sleep(_RETRY_SECONDS)


async def _imported(*modules: str) -> list[Any]:
    """The modules, imported in a thread. It waits while no thread can be started."""
    while True:
        try:
            return [await in_thread(import_module, each, limiter=trio.CapacityLimiter(1)) for each in modules]
        except OSError:
            await trio.sleep(_RETRY_SECONDS)


class Server:
    """The control socket of one run. The run must hold the lock of ``directory``: a stale socket is replaced."""

    def __init__(self, directory: str, run_handle: RunHandle, warn: Callable[[str], None]) -> None:
        self._run_handle = run_handle
        self._warn = warn
        self._path = os.path.join(directory, SOCKET_FILE)
        self._listener = _bound(directory)
        self._identity = _identity(self._path)

    async def run(self) -> None:
        """Serve until cancelled."""
        await serve(self._listener, "reactor.control.application", self._run_handle, self._warn)

    def is_lost(self) -> bool:
        """Whether the socket was removed or replaced, so that clients can't connect."""
        try:
            return _identity(self._path) != self._identity
        except OSError:  # a disk error proves nothing
            return False

    def close(self) -> None:
        """Remove the socket if it is still ours. If a disk error prevents that, the next run replaces it."""
        self._listener.close()
        with suppress(OSError):
            if _identity(self._path) == self._identity:
                os.unlink(self._path)


def _bound(directory: str) -> socket.socket:
    """A listening socket that only its owner may ever use: bind gives the file the mode that the socket has."""
    path = os.path.join(directory, SOCKET_FILE)
    if (found := _identity(path)) is not None:
        if not found[2]:
            raise FileExistsError(errno.EEXIST, "it is not a socket; remove it", path)
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        os.fchmod(listener.fileno(), 0o600)
        with short_socket_path(directory) as short:
            listener.bind(short)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _identity(path: str) -> tuple[int, int, bool] | None:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, stat.S_ISSOCK(found.st_mode)
