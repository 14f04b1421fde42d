"""Pending refreshes: which subscriber must be refreshed because of which source. The journal writes the changes to disk.

Intents are numbered: a refresh completes the intents from before its start, and no newer ones. The file needs no
numbers: it has a pair from the first intent until a refresh has completed the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pair = tuple[str, str]
"""The source of a change, and a subscriber that must be refreshed."""


class RefreshLog:
    """The pending refreshes, each with the number of its last intent."""

    def __init__(self, pending: Iterable[Pair] = ()) -> None:
        self._intents = 0
        self._begun: dict[str, int] = {}
        self._by_subscriber: dict[str, dict[str, int]] = {}
        for source, subscriber in pending:
            self._by_subscriber.setdefault(subscriber, {})[source] = 0

    def by_subscriber(self) -> dict[str, list[str]]:
        """Subscriber -> the sources of its pending refresh."""
        return {subscriber: list(pending) for subscriber, pending in self._by_subscriber.items()}

    def pairs(self) -> list[Pair]:
        """All pending refreshes."""
        return [
            (source, subscriber) for subscriber, pending in self._by_subscriber.items() for source in pending
        ]

    def intend(self, source: str, subscribers: Sequence[str]) -> list[Pair]:
        """Add a pending refresh for each subscriber, before ``source`` changes. Return the new pairs."""
        self._intents += 1
        new = [(source, each) for each in subscribers if source not in self._by_subscriber.get(each, ())]
        for subscriber in subscribers:
            self._by_subscriber.setdefault(subscriber, {})[source] = self._intents
        return new

    def begins(self, subscriber: str) -> None:
        """Note that a refresh of ``subscriber`` begins."""
        self._begun[subscriber] = self._intents

    def refreshed(self, subscriber: str) -> list[Pair]:
        """Remove what a successful refresh has completed: the refreshes from before it began. Return their pairs."""
        begun = self._begun.pop(subscriber, self._intents)
        pending = self._by_subscriber.pop(subscriber, {})
        if remaining := {source: number for source, number in pending.items() if number > begun}:
            self._by_subscriber[subscriber] = remaining
        return [(source, subscriber) for source in pending if source not in remaining]
