"""Keeps the events of a run for the page, numbered, shortened, without diffs; and each resource's last diff."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from reactor.engine.events import Event
from reactor.journal.records import Selector, lean, row

KEPT = 1000
"""Events of this run that a page can request after it was opened or has reconnected."""

QUIET = 100
"""The most checks per update that found nothing to do. More, as in an audit, would displace all other events."""

Numbered = tuple[int, Event]


class EventBuffer:
    """Keeps and numbers the events of a run that began at ``started`` (seconds since 1970).

    The numbers are higher than those of earlier runs. A page that stays open during a restart requests the events
    after the last number it has, and so gets the events of the new run.
    """

    def __init__(self, started: float) -> None:
        self._select = Selector(set())
        self._number = int(started * 1000)
        self._latest: deque[Numbered] = deque(maxlen=KEPT)
        self._fresh: list[Numbered] = []
        self._quiet: deque[Numbered] = deque(maxlen=QUIET)
        self._touched: set[str] = set()
        self.followed = False
        """Whether a page is open, which reads the fresh events."""

    def __call__(self, event: Event) -> None:
        """Take one event. Costs almost nothing while no page is open."""
        kept = self._select.keeps(event)
        if not (kept or self.followed):
            return
        self._number += 1
        numbered = self._number, lean(event)
        if kept:
            self._latest.append(numbered)
        if self.followed:
            (self._fresh if kept else self._quiet).append(numbered)
            if (ref := getattr(event, "ref", None)) is not None:
                self._touched.add(ref)

    def take_fresh(self) -> list[Numbered]:
        """The events since the last call, in order."""
        taken = sorted([*self._fresh, *self._quiet], key=lambda numbered: numbered[0])
        self._fresh.clear()
        self._quiet.clear()
        return taken

    def take_touched(self) -> set[str]:
        """The refs of the events since the last call."""
        taken, self._touched = self._touched, set()
        return taken

    def latest(self, *, after: int = 0, ref: str | None = None) -> list[Numbered]:
        """The kept events with a number above ``after``, oldest first; with ``ref`` only those of that resource."""
        return [
            each for each in self._latest if each[0] > after and ref in (None, getattr(each[1], "ref", None))
        ]


def text_of(numbered: Numbered) -> str:
    """An event as a JSON object. Takes about 10 µs."""
    number, event = numbered
    return f'{{"id":{number},{row(event, None).record[1:]}'


LONGEST = 100_000
"""Characters that are kept of one diff."""

ROOM = 8_000_000
"""Characters of all diffs. Beyond that, the oldest are dropped."""


class Diff(NamedTuple):
    """The diff of a check. ``time`` is seconds since 1970."""

    time: float
    text: str


class Diffs:
    """The last diff of each resource, by ref."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._kept: dict[str, Diff] = {}
        self._size = 0

    def keep(self, ref: str, time: float, diffs: tuple[str, ...]) -> None:
        """Keep ``diffs`` in place of the last diff of ``ref``."""
        text = "\n".join(diffs)
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}\n… ({len(text) - LONGEST} characters more)\n"
        self._forget(ref)
        self._kept[ref] = Diff(time, text)
        self._size += len(text)
        while self._size > self._room:
            self._forget(next(iter(self._kept)))

    def of(self, ref: str) -> Diff | None:
        """The last diff of ``ref``."""
        return self._kept.get(ref)

    def _forget(self, ref: str) -> None:
        if (gone := self._kept.pop(ref, None)) is not None:
            self._size -= len(gone.text)
