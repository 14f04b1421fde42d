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
_OLDEST_EVENT = "SELECT coalesce(min(id), 0) FROM events"


class DiffTable:
    """The table of diffs, for the process that writes it.

    The total size is read once, and then counted: to add up all sizes takes as long as many writes. The methods raise
    sqlite3.Error.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._size: int | None = None
        self._unpruned = 0

    @property
    def is_due(self) -> bool:
        """Whether to check the limit now: this process has written much, or something for the first time."""
        return self._unpruned >= (PRUNE_EVERY if self._size is not None else 1)

    def write(self, found: Iterable[tuple[int, str]]) -> None:
        """Write diffs, each with the id of its event."""
        rows = [(event, len(texts), texts) for event, texts in found]
        insert(self._connection, _INSERT, rows)
        written = sum(size for _, size, _ in rows)
        self._unpruned += written
        if self._size is not None:
            self._size += written

    def prune(self) -> None:
        """Delete the diffs of deleted events, and if this process has written diffs, the oldest beyond `BYTE_LIMIT`."""
        (oldest_event,) = self._connection.execute(_OLDEST_EVENT).fetchone()
        self._delete_before(oldest_event)
        if not self._unpruned:
            return
        self._unpruned = 0
        if self._size is None:
            (self._size,) = self._connection.execute("SELECT coalesce(sum(size), 0) FROM diffs").fetchone()
        if self._size > BYTE_LIMIT:
            self._delete_oldest(self._size - BYTE_LIMIT)

    def forget_size(self) -> None:
        """A transaction was undone: read the size again."""
        self._size = None

    def _delete_oldest(self, surplus: int) -> None:
        """Delete the oldest diffs, of ``surplus`` bytes or a little more. Reads no others."""
        event = 0
        for event, size in self._connection.execute("SELECT event, size FROM diffs ORDER BY event"):  # noqa: B007
            surplus -= size
            if surplus <= 0:
                break
        self._delete_before(event + 1)

    def _delete_before(self, event: int) -> None:
        if self._size is not None:
            query = "SELECT coalesce(sum(size), 0) FROM diffs WHERE event < ?"
            (gone,) = self._connection.execute(query, (event,)).fetchone()
            self._size -= gone
        self._connection.execute("DELETE FROM diffs WHERE event < ?", (event,))


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


def _cut(diffs: Sequence[str]) -> Iterable[str]:
    room = DIFF_LIMIT
    for diff in diffs:
        if len(diff) > room:
            yield f"{diff[:room].rpartition(chr(10))[0]}\n… ({len(diff) - room} characters more)\n"
            return
        yield diff
        room -= len(diff)
