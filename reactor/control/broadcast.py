"""The live stream of events, to any number of readers, none of whom can hold up a repair."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from reactor.console.jsonlines import JsonSink
from reactor.engine.events import Event
from reactor.errors import ReactorError

LIMIT = 4 << 20
"""Characters that may wait for one reader. Beyond it the reader is dropped: it reads slower than things happen."""

REST = 0.1
"""Seconds between two answers to one reader. To send is dearer than to repair: in a burst, many events go at once."""

MOST = 48
"""Readers at a time: each holds one of the connections that are served, and some are left for other requests."""


class TooManyReadersError(ReactorError):
    """As many readers as we serve are here already."""

    code = "R0606"

    def __init__(self) -> None:
        super().__init__(f"{MOST} readers follow the events already")


class Subscriber:
    """One reader of the stream. ``drop`` ends its connection at once, also while it is being written to."""

    def __init__(self, drop: Callable[[], None]) -> None:
        self.drop = drop
        self.waiting: list[str] = []
        self.size = 0
        self.over = False
        self._news = trio.Event()
        self._rested_at = -math.inf

    def put(self, line: str) -> None:
        """Take one event for the reader; returns at once."""
        self.waiting.append(line)
        self.size += len(line)
        self._news.set()

    def end(self) -> None:
        """Nothing comes any more."""
        self.over = True
        self._news.set()

    async def take(self) -> list[str]:
        """Everything that waits, once there is something; nothing at the end of the stream.

        What comes after a while is told at once, and what follows it `REST` seconds later.
        """
        await trio.sleep_until(self._rested_at)
        while not (self.waiting or self.over):
            self._news = trio.Event()
            await self._news.wait()
        self._rested_at = trio.current_time() + REST
        taken, self.waiting, self.size = self.waiting, [], 0
        return taken


class Subscribers:
    """Those who listen to something. ``warn`` hears of who was too slow: more than `LIMIT` characters waited for it."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._listeners: list[Subscriber] = []
        self._left = trio.Event()
        self.dropped = 0
        """How many listeners were too slow."""

    def admit(self, listener: Subscriber) -> None:
        """Let ``listener`` hear what comes from now on."""
        self._listeners.append(listener)

    def leave(self, listener: Subscriber) -> None:
        """``listener`` wants no more."""
        if listener in self._listeners:
            self._listeners.remove(listener)
            self._left.set()

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def put(self, text: str) -> None:
        """Let everybody have ``text``; returns at once."""
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
        """The run is over: wait until everybody has had what still waits for them, and has left."""
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
    """A sink that passes every event on to all listeners as a line of JSON. Without any it costs next to nothing."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(warn)
        self._encode = JsonSink(self.put)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._listeners:
            self._encode(event)

    def join(self, drop: Callable[[], None]) -> Subscriber:
        """A new listener, for the events from now on. Raises TooManyReadersError."""
        if self.listeners >= MOST:
            raise TooManyReadersError
        listener = Subscriber(drop)
        self.admit(listener)
        return listener
