"""One connection to a bus: calls, properties, signals."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

import trio

from reactor import TimeSlice
from reactor.watchers.dbus.calls import call_frame
from reactor.watchers.dbus.matches import DAEMON, Match, Router, Subscription
from reactor.watchers.dbus.transport import CallError, LibraryName, NoBusError, library, open_stream
from reactor.watchers.dbus.wire import Message, frame_length

_DAEMON_OBJECT = (DAEMON, "/org/freedesktop/DBus", DAEMON)
PROPERTIES = "org.freedesktop.DBus.Properties"

CALLS_AT_ONCE = 64
"""The most calls in progress. dbus-daemon fails a call on a connection that waits for 128 replies already."""

TIMEOUT = 3.0
"""Seconds for a bus to accept the connection. A healthy one takes a millisecond."""

_READ_SIZE = 64 * 1024

_Subscribe = Callable[[Match, Callable[[Message], None]], Awaitable[Subscription]]


class Question:
    """A call in progress. Calls are buffered, and sent together as soon as one of their answers is awaited."""

    __slots__ = ("_arrived", "_flush", "_is_over", "_member", "reply")

    def __init__(self, member: str, flush: Callable[[], None]) -> None:
        self._member = member
        self._flush = flush
        self._is_over = False
        self._arrived: trio.Event | None = None
        self.reply: Message | None = None

    def end(self, reply: Message | None) -> None:
        """The ``reply`` has arrived; None if the connection ended before."""
        self.reply = reply
        self._is_over = True
        if self._arrived is not None:
            self._arrived.set()

    async def answer(self) -> list[Any]:
        """Return the results of the method. Raises CallError for an error, and NoBusError when there is no answer."""
        if not self._is_over:
            self._flush()
            if self._arrived is None:  # most answers arrive together, and nobody waits for the others
                self._arrived = trio.Event()
            await self._arrived.wait()
        if self.reply is None:
            raise NoBusError(f"the connection to the bus ended before {self._member} was answered")
        if (error := self.reply.error()) is not None:
            raise error
        return self.reply.body

    @property
    def sender(self) -> str:
        """The connection that has answered. Only its own signals have the same sender."""
        return "" if self.reply is None else self.reply.sender


class Signals:
    """What `Bus.signals` returns. As a generator it would take twice as long, and every job waits for one."""

    __slots__ = ("_into", "_matches", "_out", "_streams", "_subscribe", "_subscriptions")

    def __init__(
        self, subscribe: _Subscribe, streams: set[trio.MemorySendChannel[Message]], matches: Sequence[Match]
    ) -> None:
        self._subscribe = subscribe
        self._streams = streams
        self._matches = matches
        self._subscriptions: list[Subscription] = []
        self._into, self._out = trio.open_memory_channel[Message](math.inf)

    async def __aenter__(self) -> trio.MemoryReceiveChannel[Message]:
        self._streams.add(self._into)
        try:
            for match in self._matches:
                self._subscriptions.append(await self._subscribe(match, self._into.send_nowait))
        except BaseException:
            self._close()
            raise
        return self._out

    async def __aexit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()
        self._streams.discard(self._into)
        self._into.close()
        self._out.close()


class Bus:
    """A connection to the bus at ``address``. It can be used only while `run` is running."""

    def __init__(self, address: str, uses: LibraryName) -> None:
        self._address = address
        self._library = library(uses)
        self._serials = count(1)
        self._pending: dict[int, Question] = {}
        self._slots = trio.Semaphore(CALLS_AT_ONCE)
        self._router = Router()
        self._rules = trio.Lock()
        self._streams: set[trio.MemorySendChannel[Message]] = set()
        self._descriptor = -1
        self._unsent = bytearray()
        self._is_stuck = trio.Event()
        self.is_connected = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the connection until it ends. Then waiting calls raise NoBusError, and streams of signals end.

        Raises NoBusError when the connection can't be made, or not within `TIMEOUT`.
        """
        is_greeted = False
        with trio.move_on_after(TIMEOUT) as timeout:
            async with (
                await open_stream(self._address, self._library.handshake()) as stream,
                self._connected(stream),
            ):
                is_greeted = await self._greet()
                if is_greeted:
                    timeout.deadline = math.inf
                    task_status.started()
                    await trio.sleep_forever()
        if not is_greeted:
            waited = f" within {TIMEOUT:g} s" if timeout.cancelled_caught else ""
            raise NoBusError(f"the bus at {self._address} did not accept the connection{waited}")

    @asynccontextmanager
    async def _connected(self, stream: trio.SocketStream) -> AsyncIterator[None]:
        """Read and write during the block, which is cancelled when the connection is lost."""
        self._descriptor = stream.socket.fileno()
        self.is_connected = True
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_lost, self._read, nursery.cancel_scope)
                nursery.start_soon(self._until_lost, self._write, nursery.cancel_scope)
                yield
                nursery.cancel_scope.cancel()
        finally:
            self._disconnect()

    async def ask(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> Question:
        """Begin to call a method. Raises NoBusError when there is no connection."""
        try:
            self._slots.acquire_nowait()
        except trio.WouldBlock:
            self.flush()  # a call that has a slot must get its answer
            await self._slots.acquire()
        question = Question(member, self.flush)
        try:
            serial = self._put((destination, path, interface, member), signature, body)
        except BaseException:
            self._slots.release()
            raise
        # The reply frees the slot, even if the caller was cancelled: the bus counts the call until it has replied.
        self._pending[serial] = question
        return question

    async def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> list[Any]:
        """Call a method and return what it returns.

        Raises CallError when the method answers with an error, and NoBusError when there is no answer.
        """
        question = await self.ask(destination, path, interface, member, signature, *body)
        return await question.answer()

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:
        """One property of an object. Raises as `call` does."""
        return (await self.call(destination, path, PROPERTIES, "Get", "ss", interface, name))[0]

    async def get_all(self, destination: str, path: str, interface: str) -> dict[str, Any]:
        """All properties that an interface of an object has. Raises as `call` does."""
        (found,) = await self.call(destination, path, PROPERTIES, "GetAll", "s", interface)
        return dict(found)

    async def subscribe(self, match: Match, handler: Callable[[Message], None]) -> Subscription:
        """Call ``handler`` with every matching signal. None is missed after this has returned.

        Raises as `call` does.
        """
        rule, in_force = self._router.choose_rule(match)
        if not in_force:
            async with self._rules:  # others that need the same rule wait until it is in force
                rule, in_force = self._router.choose_rule(match)
                if not in_force:
                    await self._add_match(rule)
                return self._listen(match, handler, rule)
        return self._listen(match, handler, rule)

    def _listen(self, match: Match, handler: Callable[[Message], None], rule: str) -> Subscription:
        subscription = Subscription(match, handler, self._unsubscribe)
        self._router.add(subscription, rule)
        return subscription

    def signals(self, *matches: Match) -> Signals:
        """A channel of the matching signals, without a limit, as a context manager. It ends with the connection."""
        return Signals(self.subscribe, self._streams, matches)

    async def _add_match(self, rule: str) -> None:
        try:
            await self.call(*_DAEMON_OBJECT, "AddMatch", "s", rule)
        except trio.Cancelled:
            self._remove_match(rule)  # the rule may have been sent already
            raise

    def _remove_match(self, rule: str) -> None:
        if self.is_connected:
            self._put((*_DAEMON_OBJECT, "RemoveMatch"), "s", (rule,), wants_reply=False)
            self.flush()

    def _unsubscribe(self, subscription: Subscription) -> None:
        if (rule := self._router.remove(subscription)) is not None:
            self._remove_match(rule)

    # ---- the wire ----

    def _put(
        self, target: tuple[str, ...], signature: str, body: tuple[Any, ...], *, wants_reply: bool = True
    ) -> int:
        if not self.is_connected:
            raise NoBusError(f"there is no connection to the bus at {self._address}")
        serial = next(self._serials)
        self._unsent += call_frame(serial, target, signature, body, wants_reply=wants_reply)
        return serial

    def flush(self) -> None:
        """Send as many buffered bytes as the socket accepts at once. `_write` sends the rest, and handles errors."""
        if self._unsent and self.is_connected and not self._is_stuck.is_set():
            with suppress(OSError):
                self._send()
            if self._unsent:
                self._is_stuck.set()

    def _send(self) -> None:
        with suppress(BlockingIOError):
            sent = os.write(self._descriptor, self._unsent)
            del self._unsent[:sent]

    async def _greet(self) -> bool:
        with suppress(NoBusError, CallError):
            await self.call(*_DAEMON_OBJECT, "Hello")
            return True
        return False

    async def _until_lost(self, work: Callable[[], Awaitable[None]], connection: trio.CancelScope) -> None:
        with suppress(OSError, trio.BrokenResourceError, NoBusError):
            await work()
        self._disconnect()
        connection.cancel()

    async def _write(self) -> None:
        """Send the bytes that the socket did not take at once."""
        while True:
            await self._is_stuck.wait()
            while self._unsent:
                await trio.lowlevel.wait_writable(self._descriptor)
                self._send()
            self._is_stuck = trio.Event()

    async def _read(self) -> None:
        """Read from the descriptor itself: a stream of trio takes twice as long for a short message."""
        buffer = bytearray()
        while True:
            await trio.lowlevel.wait_readable(self._descriptor)
            with suppress(BlockingIOError):
                if not (chunk := os.read(self._descriptor, _READ_SIZE)):
                    return
                buffer += chunk
                await self._take_all(buffer)

    async def _take_all(self, buffer: bytearray) -> None:
        """Take the complete messages out of ``buffer``."""
        time_slice = TimeSlice()
        while len(buffer) >= (length := frame_length(buffer)):
            frame = bytes(buffer[:length])
            del buffer[:length]
            self._take(Message(frame))
            if time_slice.used_up():
                await time_slice.yield_to_loop()

    def _take(self, message: Message) -> None:
        if message.is_signal:
            self._router.route(message)
        elif (pending := self._pending.pop(message.reply_serial or 0, None)) is not None:
            self._slots.release()
            pending.end(message)

    def _disconnect(self) -> None:
        self.is_connected = False
        for pending in self._pending.values():
            pending.end(None)
            self._slots.release()
        self._pending.clear()
        for stream in self._streams:
            stream.close()
