"""The messages of a subscription until they are read: bounded; dropped messages are counted."""

from __future__ import annotations

from collections import deque

import trio

from reactor.fleet.wire.parser import Message

MOST_MESSAGES = 65_536
MOST_BYTES = 32 << 20


class Messages:
    """A bounded queue. ``lost`` counts the messages that were dropped because it was full."""

    def __init__(self, most: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES) -> None:
        self.lost = 0
        self._most = most
        self._most_bytes = most_bytes
        self._held: deque[Message] = deque()
        self._bytes = 0
        self._filled = trio.Event()

    def __len__(self) -> int:
        return len(self._held)

    def put(self, message: Message) -> bool:
        """Add a message; returns False and drops it when there is no room."""
        if len(self._held) >= self._most or self._bytes + len(message.data) > self._most_bytes:
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
