"""Stores the diffs of events in a separate table: shortened for each event, and limited in total.

`reactor.engine.check` decides which changes get a diff. The records of events have no diffs: commands show the
records elsewhere, but only the owner of the journal file may read the diffs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii

from reactor.engine.events import Checked, Event
from reactor.journal.schema import insert

DIFF_LIMIT = 16_000
"""Characters kept of all diffs of one event."""

WAITING_LIMIT = 8_000_000
"""Characters that may wait for a slow disk; further events are kept without their diff."""

BYTE_LIMIT = 32 << 20
"""Bytes of all diffs in the file. The oldest are deleted first."""

PRUNE_EVERY = 4 << 20
"""Bytes written between two checks of the limit."""

_INSERT = "INSERT OR REPLACE INTO diffs (event, size, texts)"
_DELETE_ORPHANS = "DELETE FROM diffs WHERE event < (SELECT coalesce(min(id), 0) FROM events)"
_DELETE_SURPLUS = """
DELETE FROM diffs WHERE event <= (
    SELECT max(event) FROM (SELECT event, sum(size) OVER (ORDER BY event DESC) AS newer FROM diffs) WHERE newer > ?
)
"""


def with_short_diffs(event: Event) -> Event:
    """The event with its diffs shortened to `DIFF_LIMIT`."""
    if not isinstance(event, Checked) or size_of(event) <= DIFF_LIMIT:
        return event
    return event.with_diffs(tuple(_cut(event.diffs)))


def size_of(event: Event) -> int:
    """The size of the diffs of an event, in characters."""
    return sum(map(len, event.diffs)) if isinstance(event, Checked) else 0


def diffs_of(event: Event) -> str | None:
    """The diffs of the event as a JSON list, for the column ``texts``; None for an event without diffs."""
    if not (isinstance(event, Checked) and event.diffs):
        return None
    return f"[{','.join(map(encode_basestring_ascii, event.diffs))}]"


def write_diffs(connection: sqlite3.Connection, found: Iterable[tuple[int, str]]) -> int:
    """Write diffs, each with the id of its event; return their total size in bytes. Raises sqlite3.Error."""
    rows = [(event, len(texts), texts) for event, texts in found]
    insert(connection, _INSERT, rows)
    return sum(size for _, size, _ in rows)


def prune_diffs(connection: sqlite3.Connection) -> None:
    """Delete the diffs of deleted events, and the oldest diffs beyond `BYTE_LIMIT`. Raises sqlite3.Error."""
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
