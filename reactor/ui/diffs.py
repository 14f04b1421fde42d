"""The last diff of each resource, as far as there is room."""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 100_000
"""Characters of one diff: nobody reads more."""

ROOM = 8_000_000
"""Characters of all diffs. Beyond that, the oldest go."""


class Diff(NamedTuple):
    """What a check changed, or would have. ``time`` is seconds since 1970."""

    time: float
    text: str


class Diffs:
    """Keeps them by ref."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._kept: dict[str, Diff] = {}
        self._size = 0

    def keep(self, ref: str, time: float, diffs: tuple[str, ...]) -> None:
        """Remember ``diffs`` in place of what was known of ``ref``."""
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
