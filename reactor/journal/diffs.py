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
_SUM = "SELECT coalesce(sum(size), 0) FROM diffs"
_NEWEST = "(SELECT coalesce(max(event), 0) FROM diffs)"
_KEPT_SIZE = f"SELECT size FROM diff_size WHERE newest = {_NEWEST}"  # noqa: S608 - a constant
_KEEP_SIZE = f"INSERT OR REPLACE INTO diff_size (id, newest, size) VALUES (1, {_NEWEST}, ?)"  # noqa: S608
_OLDEST_EVENT = "SELECT coalesce(min(id), 0) FROM events"


class DiffTable:
    """The table of diffs, for the process that writes it.

    The total size is kept in a table of its own, in the same transactions: to add up all sizes would read all diffs. The
    methods raise sqlite3.Error.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._size: int | None = None
        self._unpruned = 0
        self._is_pruned = False

    @property
    def is_due(self) -> bool:
        """Whether to check the limit now: this process has written much, or something for the first time."""
        return self._unpruned >= (PRUNE_EVERY if self._is_pruned else 1)

    def write(self, found: Iterable[tuple[int, str]]) -> None:
        """Write diffs, each with the id of its event."""
        if not (rows := [(event, len(texts), texts) for event, texts in found]):
            return
        before, written = self._known_size(), sum(size for _, size, _ in rows)
        insert(self._connection, _INSERT, rows)
        self._unpruned += written
        self._keep_size(before + written)

    def prune(self) -> None:
        """Delete the diffs of deleted events, and if this process has written diffs, the oldest beyond `BYTE_LIMIT`."""
        (oldest_event,) = self._connection.execute(_OLDEST_EVENT).fetchone()
        self._delete_before(oldest_event)
        if not self._unpruned:
            return
        self._unpruned, self._is_pruned = 0, True
        if (surplus := self._known_size() - BYTE_LIMIT) > 0:
            self._delete_oldest(surplus)

    def forget_size(self) -> None:
        """A transaction was undone: read the size again."""
        self._size, self._is_pruned = None, False

    def _known_size(self) -> int:
        """The total size. Added up if other diffs were written last: an earlier version of reactor keeps no size."""
        if self._size is None:
            found = (
                self._connection.execute(_KEPT_SIZE).fetchone() or self._connection.execute(_SUM).fetchone()
            )
            self._size = int(found[0])
        return self._size

    def _keep_size(self, size: int) -> None:
        self._connection.execute(_KEEP_SIZE, (size,))
        self._size = size

    def _delete_oldest(self, surplus: int) -> None:
        """Delete the oldest diffs, of ``surplus`` bytes or a little more. Reads no others."""
        event = 0
        for event, size in self._connection.execute("SELECT event, size FROM diffs ORDER BY event"):  # noqa: B007
            surplus -= size
            if surplus <= 0:
                break
        self._delete_before(event + 1)

    def _delete_before(self, event: int) -> None:
        (gone,) = self._connection.execute(f"{_SUM} WHERE event < ?", (event,)).fetchone()
        if gone:
            left = self._known_size() - gone
            self._connection.execute("DELETE FROM diffs WHERE event < ?", (event,))
            self._keep_size(left)


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
