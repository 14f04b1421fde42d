"""What the parts that feed the engine may ask of it: events to check for, and vertices to hold until they are watched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from reactor.engine.events import Cause, Event
from reactor.engine.vertex_table import VertexTable


class MarkSink(Protocol):
    """The engine, as watchers and the audit know it. All but `follow` returns at once."""

    vertex_table: VertexTable
    emit: Callable[[Event], None]

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now."""

    async def follow(self, wait: Callable[[], Awaitable[None]], hear: Callable[[], None]) -> None:
        """Await ``wait`` and call ``hear``, for ever, and check what it marks as soon as can be."""

    def hold(self, vertex: int) -> None:
        """Check ``vertex`` no more until `release`, and void the check that runs."""

    def release(self, vertex: int) -> None:
        """Take a `hold` back."""
