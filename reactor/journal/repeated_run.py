"""Adds the end of a run to the journal that repeats the one before: it was proven that nothing has changed.

Neither the engine nor the rest of the journal is imported for that.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import Any

from reactor.journal.schema import (
    FILE_NAME,
    UnusableError,
    address,
    close_without_checkpoint,
    open_for_writing,
)
from reactor.named_tuple import NamedTuple


class LastRun(NamedTuple):
    """The id of the event with which the last run has ended, and the id and time of its generation."""

    event: int
    generation: int
    begun: float


def last_run(directory: str, ended: float) -> LastRun | None:
    """The last run in the journal of ``directory``; None unless it has ended at the time ``ended``."""
    try:
        with closing(_reader(directory)) as connection:
            newest = "SELECT id, event, time FROM events ORDER BY id DESC LIMIT 1"
            event, kind, time = connection.execute(newest).fetchone()
            generation = connection.execute(_NEWEST_GENERATION).fetchone()
    except (sqlite3.Error, TypeError):
        return None
    return LastRun(event, *generation) if (kind, time) == ("ended", ended) else None


_NEWEST_GENERATION = "SELECT id, time FROM generations ORDER BY id DESC LIMIT 1"
_PENDING = "SELECT 1 FROM refreshes WHERE owed_since IS NOT NULL LIMIT 1"
_OTHERS = "SELECT count(*) FROM events WHERE id > ? AND (event IS NOT 'ended' OR generation IS NOT ?)"


def add_end(directory: str, last: LastRun, ended: dict[str, Any]) -> bool:
    """Add the event ``ended`` to the locked journal of ``directory``.

    False unless `is_still_last`; then the journal is not changed.
    """
    path = os.path.join(directory, FILE_NAME)
    if not os.path.exists(path):
        return False
    try:
        connection = open_for_writing(path)
    except (sqlite3.Error, OSError, UnusableError):
        return False
    try:
        return _add(connection, last, ended)
    except sqlite3.Error:
        return False
    finally:
        close_without_checkpoint(connection, path)


def is_still_last(directory: str, last: LastRun) -> bool:
    """Whether the journal is as ``last`` has left it, apart from more runs that found nothing to do."""
    try:
        with closing(_reader(directory)) as connection:
            return _newest_after(connection, last) is not None
    except (sqlite3.Error, TypeError):
        return False


def _reader(directory: str) -> sqlite3.Connection:
    return sqlite3.connect(address(os.path.join(directory, FILE_NAME), "ro"), uri=True)


def _newest_after(connection: sqlite3.Connection, last: LastRun) -> int | None:
    """The id of the newest event, if all after ``last`` are ends of runs that found nothing to do; else None."""
    execute = connection.execute
    (newest,) = execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    (others,) = execute(_OTHERS, (last.event, last.generation)).fetchone()
    generation = execute(_NEWEST_GENERATION).fetchone()
    if (
        newest < last.event
        or others
        or execute(_PENDING).fetchone()
        or generation != (last.generation, last.begun)
    ):
        return None
    return int(newest)


def _add(connection: sqlite3.Connection, last: LastRun, ended: dict[str, Any]) -> bool:
    execute = connection.execute
    execute("BEGIN IMMEDIATE")
    newest = _newest_after(connection, last)
    if newest is None:
        return False
    record = json.dumps(ended, separators=(",", ":"))
    row = (newest + 1, ended["time"], ended["event"], last.generation, record)
    execute("INSERT INTO events (id, time, event, generation, record) VALUES (?, ?, ?, ?, ?)", row)
    execute("COMMIT")
    return True
