"""The commands that a connection has to send: bounded, so that publishers wait while the network is slow."""

from __future__ import annotations

import trio

LIMIT = 8 << 20
"""Bytes that may wait to be sent."""


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
        return len(self._data) >= LIMIT

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
