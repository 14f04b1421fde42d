"""Who owes a refresh because of whom. No files here: the journal writes down what these methods return.

Intents are numbered, so that a refresh pays what was owed when it began and nothing that came meanwhile. What is
on the disk needs no numbers: a pair is there from its first intent until a refresh has paid the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pair = tuple[str, str]
"""The source of a change, and a subscriber of it that owes a refresh."""


class RefreshLog:
    """The refreshes that are owed, each with the number of the last intent that it is owed for."""

    def __init__(self, owed: Iterable[Pair] = ()) -> None:
        self._intents = 0
        self._begun: dict[str, int] = {}
        self._by_subscriber: dict[str, dict[str, int]] = {}
        for source, subscriber in owed:
            self._by_subscriber.setdefault(subscriber, {})[source] = 0

    def owing(self) -> dict[str, list[str]]:
        """The subscribers that owe a refresh, each with the sources it owes it for."""
        return {subscriber: list(owed) for subscriber, owed in self._by_subscriber.items()}

    def pairs(self) -> list[Pair]:
        """All that is owed."""
        return [(source, subscriber) for subscriber, owed in self._by_subscriber.items() for source in owed]

    def intend(self, source: str, subscribers: Sequence[str]) -> list[Pair]:
        """``source`` is about to change. Returns the pairs that owed nothing until now."""
        self._intents += 1
        new = [(source, each) for each in subscribers if source not in self._by_subscriber.get(each, ())]
        for subscriber in subscribers:
            self._by_subscriber.setdefault(subscriber, {})[source] = self._intents
        return new

    def begins(self, subscriber: str) -> None:
        """A refresh of ``subscriber`` begins."""
        self._begun[subscriber] = self._intents

    def refreshed(self, subscriber: str) -> list[Pair]:
        """The refresh succeeded. Returns the pairs it paid: those owed since before it began."""
        begun = self._begun.pop(subscriber, self._intents)
        owed = self._by_subscriber.pop(subscriber, {})
        if still_owed := {source: number for source, number in owed.items() if number > begun}:
            self._by_subscriber[subscriber] = still_owed
        return [(source, subscriber) for source in owed if source not in still_owed]
