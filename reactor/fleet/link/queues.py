"""The bounded queues of a connection: messages that are not read yet, and commands that are not sent yet."""

from __future__ import annotations

from collections import deque

import trio

from reactor.fleet.wire.parser import Message

MOST_MESSAGES = 65_536
"""Messages of one subscription that may wait to be read. Further ones are dropped, and counted."""
MOST_BYTES = 32 << 20
"""Bytes of data that these messages may have."""
MOST_UNSENT = 8 << 20
"""Bytes of commands that may wait to be sent. Above it, publishers wait."""


class Messages:
    """A bounded queue. ``lost`` counts the messages that were dropped because it was full."""

    def __init__(self, most: int = MOST_MESSAGES) -> None:
        self.lost = 0
        self._most = most
        self._held: deque[Message] = deque()
        self._bytes = 0
        self._filled = trio.Event()

    def __len__(self) -> int:
        return len(self._held)

    def put(self, message: Message) -> bool:
        """Add a message; returns False and drops it when there is no room."""
        if len(self._held) >= self._most or self._bytes + len(message.data) > MOST_BYTES:
            self.lost += 1
            self._filled.set()
            return False
        self._held.append(message)
        self._bytes += len(message.data)
        self._filled.set()
        return True

    def wake(self) -> None:
        """Wake the reader without a message."""
        self._filled.set()

    async def get(self) -> Message | None:
        """Wait for the next message; None after a wake-up without one, also when one was lost."""
        if not self._held:
            await self._filled.wait()
        else:
            await trio.lowlevel.checkpoint()
        message = self._held.popleft() if self._held else None
        if message is not None:
            self._bytes -= len(message.data)
        if not self._held:
            self._filled = trio.Event()
        return message

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> Message:
        while (message := await self.get()) is None:
            pass
        return message


class Outbox:
    """Collects commands. One task sends all collected ones at once."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._filled = trio.Event()
        self._emptied = trio.Event()

    def __len__(self) -> int:
        return len(self._data)

    @property
    def full(self) -> bool:
        """Whether publishers have to wait."""
        return len(self._data) >= MOST_UNSENT

    def add(self, data: bytes) -> None:
        """Add a command."""
        self._data += data
        self._filled.set()

    async def room(self) -> None:
        """Wait until the collected commands have been taken or discarded."""
        await self._emptied.wait()

    async def take(self) -> bytearray:
        """Wait for commands, and return all."""
        while not self._data:
            self._filled = trio.Event()
            await self._filled.wait()
        return self._empty()

    def discard(self) -> None:
        """Drop all commands: the connection has ended."""
        self._empty()

    def _empty(self) -> bytearray:
        data, self._data = self._data, bytearray()
        self._emptied.set()
        self._emptied = trio.Event()
        return data
