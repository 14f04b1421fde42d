"""The subscriptions of a connection: they are made again on the next connection."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reactor.fleet.wire import commands
from reactor.fleet.wire.parser import Message

Take = Callable[[Message], object]

_MOST_DENIALS = 1000


class _Subscription(NamedTuple):
    subject: str
    take: Take
    queue: str | None
    optional: bool


class Subscriptions:
    """The subscriptions by number. The server sends the number with each message."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._held: dict[int, _Subscription] = {}
        self._denied: set[tuple[str, bool]] = set()

    def add(self, subject: str, take: Take, queue: str | None = None, *, optional: bool = False) -> int:
        """Add a subscription; return its number. Raises ValueError for a malformed subject."""
        number = next(self._numbers)
        commands.subscribe(subject, number, queue)
        self._held[number] = _Subscription(subject, take, queue, optional)
        return number

    def remove(self, number: int) -> bool:
        """Forget one; returns whether it was there."""
        return self._held.pop(number, None) is not None

    def commands(self) -> Iterator[bytes]:
        """The commands that make all subscriptions on a new connection."""
        for number, each in self._held.items():
            yield commands.subscribe(each.subject, number, each.queue)

    def take(self, message: Message) -> None:
        """Deliver a message. A message for an unknown number is late, or from a hostile server, and is ignored."""
        found = self._held.get(message.sid)
        if found is not None:
            found.take(message)

    def is_new_denial(self, subject: str, publishing: bool) -> bool:
        """Whether the denial of a subject must be reported."""
        known = (subject, publishing) in self._denied or len(self._denied) >= _MOST_DENIALS
        self._denied.add((subject, publishing))
        optional = not publishing and any(
            each.optional for each in self._held.values() if each.subject == subject
        )
        return not known and not optional
