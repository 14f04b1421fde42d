"""Sends the live stream of events to any number of readers. A slow reader never delays a repair."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from reactor.console.jsonlines import JsonSink
from reactor.engine.events import Event
from reactor.errors import ReactorError

LIMIT = 4 << 20
"""Characters that may wait for one reader. A reader that falls further behind is dropped."""

REST = 0.1
"""Seconds between two writes to one reader. A write costs more than a repair, so it sends a burst of events."""

MOST = 48
"""The most readers at a time. Each takes a connection; the other connections stay free for other requests."""


class TooManyReadersError(ReactorError):
    """The limit of readers is reached."""

    code = "R0606"

    def __init__(self) -> None:
        super().__init__(f"there are already {MOST} readers of the events")


class Subscriber:
    """One reader of the stream. ``drop`` ends its connection at once, also while it is being written to."""

    def __init__(self, drop: Callable[[], None]) -> None:
        self.drop = drop
        self.waiting: list[str] = []
        self.size = 0
        self.over = False
        self._new_data = trio.Event()
        self._rested_at = -math.inf

    def put(self, line: str) -> None:
        """Queue one event for the reader; returns at once."""
        self.waiting.append(line)
        self.size += len(line)
        self._new_data.set()

    def end(self) -> None:
        """Queue the end of the stream."""
        self.over = True
        self._new_data.set()

    async def take(self) -> list[str]:
        """Wait for queued events and return them; an empty list at the end of the stream.

        The first event after a pause is returned at once, the next ones `REST` seconds later.
        """
        await trio.sleep_until(self._rested_at)
        while not (self.waiting or self.over):
            self._new_data = trio.Event()
            await self._new_data.wait()
        self._rested_at = trio.current_time() + REST
        taken, self.waiting, self.size = self.waiting, [], 0
        return taken


class Subscribers:
    """The readers of a stream. A reader with more than `LIMIT` queued characters is dropped, and ``warn`` is called."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._listeners: list[Subscriber] = []
        self._left = trio.Event()
        self.dropped = 0
        """The number of readers that were dropped."""

    def admit(self, listener: Subscriber) -> None:
        """Send ``listener`` the events from now on."""
        self._listeners.append(listener)

    def leave(self, listener: Subscriber) -> None:
        """Send ``listener`` no more events."""
        if listener in self._listeners:
            self._listeners.remove(listener)
            self._left.set()

    @property
    def listeners(self) -> int:
        """The number of readers."""
        return len(self._listeners)

    def put(self, text: str) -> None:
        """Queue ``text`` for every reader; returns at once."""
        for listener in tuple(self._listeners):
            listener.put(text)
            if listener.size > LIMIT:
                self._drop(listener)

    def dismiss(self) -> None:
        """End every connection at once."""
        for listener in tuple(self._listeners):
            self.leave(listener)
            listener.drop()

    async def end(self) -> None:
        """Send every reader its queued events and the end of the stream; return when all have disconnected."""
        for listener in self._listeners:
            listener.end()
        while self._listeners:
            self._left = trio.Event()
            await self._left.wait()

    def _drop(self, listener: Subscriber) -> None:
        self.dropped += 1
        self.leave(listener)
        listener.drop()
        self._warn(f"a reader of the event stream was dropped: {len(listener.waiting)} events waited for it")


class Broadcast(Subscribers):
    """A sink that sends every event to all readers as a line of JSON. Without readers it costs almost nothing."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(warn)
        self._encode = JsonSink(self.put)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._listeners:
            self._encode(event)

    def join(self, drop: Callable[[], None]) -> Subscriber:
        """Add and return a reader of events from now on; ``drop`` closes its connection. Raises TooManyReadersError."""
        if self.listeners >= MOST:
            raise TooManyReadersError
        listener = Subscriber(drop)
        self.admit(listener)
        return listener
