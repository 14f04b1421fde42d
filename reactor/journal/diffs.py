"""The diffs of the events that the journal keeps: in a table of their own, cut to size, bounded in all.

They are what `reactor.engine.check` lets be shown, and nothing of them is in the records of events: those go to
more places than the file, which only its owner can read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from reactor.engine.events import Checked, Event

DIFF_LIMIT = 16_000
"""Characters kept of all diffs of one event."""

WAITING_LIMIT = 8_000_000
"""Characters that may wait for a disk; what comes beyond that has no diff."""

BYTE_LIMIT = 32 << 20
"""Bytes of all diffs in the file. The oldest go first."""

PRUNE_EVERY = 4 << 20
"""Bytes written between two looks at the limit."""

DIFFS = """
CREATE TABLE IF NOT EXISTS diffs (
    event INTEGER PRIMARY KEY,
    size INTEGER NOT NULL,
    texts TEXT NOT NULL
);
"""
"""``event`` is the id of the event. The size comes before the texts, so that adding sizes up reads none of these."""

_INSERT = "INSERT OR REPLACE INTO diffs (event, size, texts) VALUES (?, ?, ?)"
_DELETE_ORPHANS = "DELETE FROM diffs WHERE event < (SELECT coalesce(min(id), 0) FROM events)"
_DELETE_SURPLUS = """
DELETE FROM diffs WHERE event <= (
    SELECT max(event) FROM (SELECT event, sum(size) OVER (ORDER BY event DESC) AS newer FROM diffs) WHERE newer > ?
)
"""

_dump = json.JSONEncoder(separators=(",", ":")).encode


def with_short_diffs(event: Event) -> Event:
    """The event with no more of its diffs than is kept."""
    if not isinstance(event, Checked) or size_of(event) <= DIFF_LIMIT:
        return event
    return event.with_diffs(tuple(_cut(event.diffs)))


def size_of(event: Event) -> int:
    """The characters of its diffs."""
    return sum(map(len, event.diffs)) if isinstance(event, Checked) else 0


def diffs_of(event: Event) -> str | None:
    """What stands in the table; None for an event without diffs."""
    return _dump(event.diffs) if isinstance(event, Checked) and event.diffs else None


def write_diffs(connection: sqlite3.Connection, found: Iterable[tuple[int, str]]) -> int:
    """Write the texts of the events with these ids; return how many bytes these are. Raises sqlite3.Error."""
    rows = [(event, len(texts), texts) for event, texts in found]
    connection.executemany(_INSERT, rows)
    return sum(size for _, size, _ in rows)


def prune_diffs(connection: sqlite3.Connection) -> None:
    """Delete the diffs of events that are gone, and the oldest beyond the limit. Raises sqlite3.Error."""
    connection.execute(_DELETE_ORPHANS)
    connection.execute(_DELETE_SURPLUS, (BYTE_LIMIT,))


def _cut(diffs: Sequence[str]) -> Iterable[str]:
    room = DIFF_LIMIT
    for diff in diffs:
        if len(diff) > room:
            yield f"{diff[:room].rpartition(chr(10))[0]}\n… ({len(diff) - room} characters more)\n"
            return
        yield diff
        room -= len(diff)
