"""One connection to a bus: calls, properties, signals. Messages are read by one task and written by another."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from typing import Any
from urllib.parse import unquote

import trio

from watchers.dbus.errors import CallError, NoBusError
from watchers.dbus.library import LibraryName, Message, frame_length, library
from watchers.dbus.matches import Match, Router, Subscription
from watchers.pacing import Pacer

DAEMON = "org.freedesktop.DBus"
_DAEMON_OBJECT = (DAEMON, "/org/freedesktop/DBus", DAEMON)
_PROPERTIES = "org.freedesktop.DBus.Properties"

CALLS_AT_ONCE = 64
"""dbus-daemon allows a connection 128 calls without a reply; the next one fails."""

_READ_SIZE = 64 * 1024


class _Pending:
    """A call that waits for its reply."""

    __slots__ = ("arrived", "reply")

    def __init__(self) -> None:
        self.arrived = trio.Event()
        self.reply: Message | None = None


class Bus:
    """A connection to the bus at ``address``. Nothing works before `run` has begun, or after it has ended."""

    def __init__(self, address: str, uses: LibraryName) -> None:
        self._address = address
        self._library = library(uses)
        self._serials = count(1)
        self._pending: dict[int, _Pending] = {}
        self._slots = trio.Semaphore(CALLS_AT_ONCE)
        self._router = Router()
        self._rules = trio.Lock()
        self._streams: set[trio.MemorySendChannel[Message]] = set()
        self._outgoing, self._to_send = trio.open_memory_channel[bytes](math.inf)
        self._is_greeted = False
        self.is_connected = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the connection until it ends: then calls that wait raise NoBusError, and streams of signals end.

        Raises NoBusError when there is none to be had.
        """
        stream = await _open(self._address)
        try:
            await self._authenticate(stream)
            async with trio.open_nursery() as nursery:
                self.is_connected = True
                nursery.start_soon(self._until_lost, self._read, stream, nursery.cancel_scope)
                nursery.start_soon(self._until_lost, self._write, stream, nursery.cancel_scope)
                if await self._greet():
                    task_status.started()
                else:
                    nursery.cancel_scope.cancel()
        except trio.BrokenResourceError as error:
            raise NoBusError(f"the bus at {self._address} turned us away") from error
        finally:
            self._disconnect()
            await trio.aclose_forcefully(stream)
        if not self._is_greeted:
            raise NoBusError(f"the bus at {self._address} did not take us in")

    async def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> list[Any]:
        """Call a method and return what it returns.

        Raises CallError when it answers with an error, and NoBusError when there is no answer to be had.
        """
        await self._slots.acquire()
        pending = _Pending()
        try:
            serial = self._send((destination, path, interface, member), signature, body)
        except BaseException:
            self._slots.release()
            raise
        # The slot is free when the reply is here, also if nobody waits for it any more: until then the bus counts it.
        self._pending[serial] = pending
        await pending.arrived.wait()
        if pending.reply is None:
            raise NoBusError(
                f"the connection to the bus at {self._address} ended before {member} was answered"
            )
        if (error := pending.reply.error()) is not None:
            raise error
        return pending.reply.body

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:
        """One property of an object. Raises as `call` does."""
        return (await self.call(destination, path, _PROPERTIES, "Get", "ss", interface, name))[0]

    async def get_all(self, destination: str, path: str, interface: str) -> dict[str, Any]:
        """All properties that an interface of an object has. Raises as `call` does."""
        (found,) = await self.call(destination, path, _PROPERTIES, "GetAll", "s", interface)
        return dict(found)

    async def subscribe(self, match: Match, hear: Callable[[Message], None]) -> Subscription:
        """Call ``hear`` with every signal that matches; once this returns, none is missed. Raises as `call` does."""
        async with self._rules:  # whoever wants the same rule waits until it is in force
            rule, in_force = self._router.choose_rule(match)
            if not in_force:
                await self._add_match(rule)
            subscription = Subscription(match, hear, self._unsubscribe)
            self._router.add(subscription, rule)
        return subscription

    @asynccontextmanager
    async def signals(self, *matches: Match) -> AsyncIterator[trio.MemoryReceiveChannel[Message]]:
        """A channel of the signals that match. It ends with the connection, and holds whatever is not read yet."""
        into, out = trio.open_memory_channel[Message](math.inf)
        self._streams.add(into)
        with out, into, ExitStack() as held:
            held.callback(self._streams.discard, into)
            for match in matches:
                held.callback((await self.subscribe(match, into.send_nowait)).close)
            yield out

    async def _add_match(self, rule: str) -> None:
        try:
            await self.call(*_DAEMON_OBJECT, "AddMatch", "s", rule)
        except trio.Cancelled:
            self._remove_match(rule)  # it is on its way already
            raise

    def _remove_match(self, rule: str) -> None:
        if self.is_connected:
            self._send((*_DAEMON_OBJECT, "RemoveMatch"), "s", (rule,), wants_reply=False)

    def _unsubscribe(self, subscription: Subscription) -> None:
        if (rule := self._router.remove(subscription)) is not None:
            self._remove_match(rule)

    # ---- the wire ----

    def _send(
        self, target: tuple[str, ...], signature: str, body: tuple[Any, ...], *, wants_reply: bool = True
    ) -> int:
        if not self.is_connected:
            raise NoBusError(f"there is no connection to the bus at {self._address}")
        serial = next(self._serials)
        self._outgoing.send_nowait(
            self._library.call(serial, target, signature, body, wants_reply=wants_reply)
        )
        return serial

    async def _greet(self) -> bool:
        with suppress(NoBusError, CallError):
            await self.call(*_DAEMON_OBJECT, "Hello")
            self._is_greeted = True
        return self._is_greeted

    async def _until_lost(
        self,
        work: Callable[[trio.SocketStream], Awaitable[None]],
        stream: trio.SocketStream,
        connection: trio.CancelScope,
    ) -> None:
        with suppress(trio.BrokenResourceError, NoBusError):
            await work(stream)
        self._disconnect()
        connection.cancel()

    async def _write(self, stream: trio.SocketStream) -> None:
        """The only one who sends, so that a call that is cancelled can't tear a message."""
        async for data in self._to_send:
            await stream.send_all(data)

    async def _read(self, stream: trio.SocketStream) -> None:
        buffer = bytearray()
        while chunk := await stream.receive_some(_READ_SIZE):
            buffer += chunk
            pacer = Pacer()
            while len(buffer) >= (length := frame_length(buffer)):
                frame = bytes(buffer[:length])
                del buffer[:length]
                self._take(self._library.parse(frame))
                if pacer.due():
                    await pacer.rest()

    def _take(self, message: Message) -> None:
        if message.is_signal:
            self._router.route(message)
        elif (pending := self._pending.pop(message.reply_serial or 0, None)) is not None:
            self._slots.release()
            pending.reply = message
            pending.arrived.set()

    async def _authenticate(self, stream: trio.SocketStream) -> None:
        handshake = self._library.handshake()
        await stream.send_all(f"\0{handshake.begin()}\r\n".encode())
        answer, line = "", b""
        while answer != "BEGIN":
            while not line.endswith(b"\r\n"):  # the bus never says two things in a row before BEGIN
                chunk = await stream.receive_some(4096)
                if not chunk:
                    raise NoBusError(f"the bus at {self._address} turned us away")
                line += chunk
            answer, line = handshake.answer(line[:-2].decode()), b""
            await stream.send_all(f"{answer}\r\n".encode())

    def _disconnect(self) -> None:
        self.is_connected = False
        for pending in self._pending.values():
            pending.arrived.set()
            self._slots.release()
        self._pending.clear()
        for stream in self._streams:
            stream.close()


async def _open(address: str) -> trio.SocketStream:
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
