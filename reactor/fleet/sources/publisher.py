"""Publishes the registrations of a run: after each successful check, and again after a third of their time to live."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import trio

from reactor.fleet.link.errors import ContextError, DisconnectedError, LinkError
from reactor.fleet.registry.entry import NEVER, Entry, go_duration
from reactor.fleet.registry.stream import publish
from reactor.resource.common_properties import Registration

if TYPE_CHECKING:
    from reactor.fleet.link.jetstream import JetStream

Warn = Callable[[str], None]
Live = Callable[[Warn], AbstractAsyncContextManager["JetStream"]]

_SHARE = 3
"""The fraction of its time to live after which an entry is published again."""
_LEAST = 1.0
"""Seconds between two messages of one entry that has not changed: a resource may be checked very often."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class _Announced:
    """One entry: ``ref`` is its resource, ``due`` when to publish it, in seconds of `time.monotonic`."""

    def __init__(self, ref: str, entry: Entry, every: float) -> None:
        self.ref, self.entry, self.every = ref, entry, every
        self.due = 0.0
        self.sent = -math.inf
        self.pause = _FIRST_PAUSE

    def is_sent(self, now: float) -> None:
        self.sent, self.due, self.pause = now, now + self.every, _FIRST_PAUSE

    def is_refused(self, now: float) -> None:
        self.due = now + self.pause
        self.pause = min(2 * self.pause, _LONGEST_PAUSE)


class NatsPublisher:
    """Implements `reactor.source.links.Publisher`. While the network is away, only the newest of each entry is kept."""

    def __init__(self, live: Live, destination: str, stream: str | None) -> None:
        """``live`` yields the connection for as long as it is used."""
        self._live = live
        self._is_stored = destination == "jetstream"
        self._stream = stream
        self._announced: dict[str, _Announced] = {}
        self._changed = trio.Event()
        self._idle = trio.Event()
        self._warned = ""

    def stable(self, ref: str, registrations: Sequence[Registration]) -> None:
        """Implements `reactor.source.links.Publisher`."""
        now = time.monotonic()
        entries = {entry.subject: (entry, _every(each)) for each in registrations for entry in [_entry(each)]}
        for subject in [name for name, each in self._announced.items() if each.ref == ref]:
            if subject not in entries:
                del self._announced[subject]
        for subject, (entry, every) in entries.items():
            found = self._announced.get(subject)
            if found is None or found.entry != entry:
                found = self._announced[subject] = _Announced(ref, entry, every)
            found.due = min(found.due, max(now, found.sent + _LEAST))
        self._changed.set()

    def unstable(self, ref: str) -> None:
        """Implements `reactor.source.links.Publisher`."""
        self._announced = {name: each for name, each in self._announced.items() if each.ref != ref}

    async def run(self, warn: Warn) -> None:
        """Implements `reactor.source.links.Publisher`."""
        try:
            async with self._live(warn) as js:
                while True:
                    await js.connection.wait_up()
                    await self._publish_due(js, warn)
                    self._idle.set()
                    self._idle = trio.Event()
                    await self._next()
        except ContextError as error:
            warn(f"nothing is registered: {error}")

    async def drain(self) -> None:
        """Implements `reactor.source.links.Publisher`."""
        while any(each.due <= time.monotonic() for each in self._announced.values()):
            await self._idle.wait()

    async def _next(self) -> None:
        """Wait until an entry is due, or changes."""
        left = min((each.due for each in self._announced.values()), default=math.inf) - time.monotonic()
        with trio.move_on_after(max(left, 0.0)):
            await self._changed.wait()
        self._changed = trio.Event()

    async def _publish_due(self, js: JetStream, warn: Warn) -> None:
        now = time.monotonic()
        for each in [each for each in self._announced.values() if each.due <= now]:
            if self._announced.get(each.entry.subject) is not each:
                continue
            try:
                await self._publish(js, each.entry)
            except DisconnectedError:
                return
            except LinkError as error:
                each.is_refused(now)
                hint = f"; {error.hint}" if error.hint else ""
                self._warn_once(f"{each.ref} can't be registered: {error}{hint}", warn)
            else:
                each.is_sent(now)
                self._warned = ""

    async def _publish(self, js: JetStream, entry: Entry) -> None:
        if self._is_stored:
            await publish(js, entry, self._stream)
        else:
            await js.connection.publish(entry.subject, entry.body)

    def _warn_once(self, problem: str, warn: Warn) -> None:
        if problem != self._warned:
            self._warned = problem
            warn(problem)


def _entry(declared: Registration) -> Entry:
    ttl = declared.ttl
    return Entry(
        declared.cluster,
        declared.service,
        declared.protocol,
        declared.address,
        declared.port,
        declared.priority,
        declared.annotations,
        ttl if ttl is None or ttl == NEVER else go_duration(float(ttl)),
    )


def _every(declared: Registration) -> float:
    """Return the seconds after which an entry is published again; infinite if it does not end."""
    return float(declared.ttl) / _SHARE if isinstance(declared.ttl, int | float) else math.inf
