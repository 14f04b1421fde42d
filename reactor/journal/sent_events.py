"""Which events of the journal were sent to another program and acknowledged there, and which were dropped before.

The journal is the buffer: nothing else waits in memory. The table ``sent`` has a cursor for each stream of events. A batch
that was sent and not acknowledged is made again with the same last event, also by another process, so that the receiver
knows a repetition by its ids.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from reactor.journal.schema import FILE_NAME, address

_TABLE = """
CREATE TABLE IF NOT EXISTS sent (
    stream TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL,
    in_flight INTEGER,
    nonce TEXT NOT NULL,
    lost INTEGER NOT NULL,
    told INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""``last_id``: the last event that is acknowledged; ``in_flight``: the last one of the batch that was sent and is not;
``lost``: how many events were deleted before they were acknowledged; ``told``: how many of them were reported."""

_BEGIN = """
INSERT OR IGNORE INTO sent (stream, last_id, nonce, lost, told)
VALUES (?, max(0, (SELECT coalesce(max(id), 0) FROM events) - ?), ?, 0, 0)
"""
_NEXT = """
SELECT id, generation, record FROM events WHERE id > :last AND (:most IS NULL OR id <= :most) ORDER BY id LIMIT :limit
"""
_UNSENT = "SELECT stream, (SELECT count(*) FROM events WHERE id > last_id) FROM sent"

HISTORY = 1000
"""The events from before the first use of a stream that are sent, too."""


class Batch(NamedTuple):
    """Events with the ids from ``first`` to ``last``, as ``reactor events --format json`` shows them.

    The first record may be a ``recordslost``, which has no id. ``told`` is how many lost events are reported with it.
    ``secret``: a random number, from which the ids of a batch are made.
    """

    secret: str
    first: int
    last: int
    records: list[dict[str, Any]]
    size: int
    told: int


class Backlog(NamedTuple):
    """``newest``: the id of the newest event; ``unsent``: events that are not acknowledged; ``lost``: never sent."""

    newest: int = 0
    unsent: int = 0
    lost: int = 0


class SentEvents:
    """The cursor ``stream`` in the journal of ``directory``. The methods block, and raise sqlite3.Error or OSError."""

    def __init__(self, directory: str, stream: str) -> None:
        self._path = os.path.join(directory, FILE_NAME)
        self._stream = stream

    def renew(self) -> bool:
        """Draw a new secret, so that the ids of this process are its own; False while a batch waits to be acknowledged.

        The journal may be a copy, or an old one that was restored: then the same ids have been used for other events.
        """
        with self._open() as connection:
            done = connection.execute(
                "UPDATE sent SET nonce = ? WHERE stream = ? AND in_flight IS NULL",
                (_new_secret(), self._stream),
            )
            return done.rowcount > 0

    def next_batch(self, most_events: int, most_bytes: int) -> Batch | None:
        """Return the oldest events that are not acknowledged; None if there are none. One event may be larger."""
        with self._open() as connection:
            last_id, in_flight, secret, lost, told = connection.execute(
                "SELECT last_id, in_flight, nonce, lost, told FROM sent WHERE stream = ?", (self._stream,)
            ).fetchone()
            values = {"last": last_id, "most": in_flight, "limit": most_events}
            found = connection.execute(_NEXT, values).fetchall()
            if not found and in_flight is not None:  # they were deleted
                found = connection.execute(_NEXT, {**values, "most": None}).fetchall()
            if not found:
                return None
            rows = _within(found, most_bytes)
            first, last = rows[0][0], rows[-1][0]
            connection.execute("UPDATE sent SET in_flight = ? WHERE stream = ?", (last, self._stream))
        records = [{"id": row[0], "generation": row[1], **json.loads(row[2])} for row in rows]
        if lost > told:
            records.insert(0, {"event": "recordslost", "time": time.time(), "count": lost - told})
        return Batch(secret, first, last, records, len(rows), lost)

    def acknowledge(self, batch: Batch) -> None:
        """Note that ``batch`` has arrived. Its events that were deleted meanwhile are not lost."""
        with self._open() as connection:
            (kept,) = connection.execute(
                "SELECT count(*) FROM events WHERE id BETWEEN ? AND ?", (batch.first, batch.last)
            ).fetchone()
            connection.execute(
                "UPDATE sent SET last_id = ?, in_flight = NULL, told = ?, lost = max(lost - ?, ?)"
                " WHERE stream = ? AND nonce = ?",
                (batch.last, batch.told, batch.size - kept, batch.told, self._stream, batch.secret),
            )

    def backlog(self) -> Backlog:
        """Return what is there to send."""
        with self._open() as connection:
            newest, unsent, lost = connection.execute(
                "SELECT (SELECT coalesce(max(id), 0) FROM events),"
                " (SELECT count(*) FROM events WHERE id > last_id), lost FROM sent WHERE stream = ?",
                (self._stream,),
            ).fetchone()
        return Backlog(newest, unsent, lost)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction. A run that starts a new file gets a new cursor with another nonce."""
        with closing(
            sqlite3.connect(address(self._path, "rw"), uri=True, isolation_level=None)
        ) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(_BEGIN, (self._stream, HISTORY, _new_secret()))
            yield connection
            connection.execute("COMMIT")


def _new_secret() -> str:
    return secrets.token_hex(16)


def _within(rows: list[tuple[Any, ...]], most_bytes: int) -> list[tuple[Any, ...]]:
    """The first rows that have at most ``most_bytes`` together, and at least one."""
    size = 0
    for number, row in enumerate(rows):
        size += len(row[2].encode()) + _OVERHEAD
        if size > most_bytes and number:
            return rows[:number]
    return rows


_OVERHEAD = 60
"""Bytes of an event for its id and generation, and the end of the line."""


@contextmanager
def counting_losses(connection: sqlite3.Connection) -> Iterator[None]:
    """Count the unsent events of each stream that are deleted in the block. The table must exist."""
    before: dict[str, int] = dict(connection.execute(_UNSENT).fetchall())
    yield
    if before:
        for stream, unsent in connection.execute(_UNSENT).fetchall():
            if unsent < before.get(stream, 0):
                connection.execute(
                    "UPDATE sent SET lost = lost + ? WHERE stream = ?", (before[stream] - unsent, stream)
                )
