"""The connection that writes the journal. It blocks, so the journal calls it in a thread."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress

from reactor.journal import retention
from reactor.journal.diffs import DiffTable
from reactor.journal.records import is_failing, loss, row
from reactor.journal.recovery import PENDING, Recovered, recover
from reactor.journal.refresh_log import Pair
from reactor.journal.schema import (
    FILE_NAME,
    MEMBERS,
    ORIGINALS,
    UnusableError,
    close_without_checkpoint,
    has_table,
    insert,
    open_for_writing,
)
from reactor.journal.undo_records import UndoRecord
from reactor.journal.write_buffer import Batch, Generation
from reactor.named_tuple import NamedTuple

_BROKEN = ".broken-"
_ASKED_AT_ONCE = 500

_LAST_RESULTS = """
SELECT ref, result, max(id) FROM events
WHERE result IS NOT NULL AND ref IN (SELECT ref FROM events WHERE result IN ('failed', 'blocked')) GROUP BY ref
"""
"""The last result of each ref that failed at least once: SQLite takes the other columns from the row of the maximum."""


_THE_FILE = {
    sqlite3.SQLITE_ERROR,  # a table is missing
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_NOTADB,
}


class Found(NamedTuple):
    """The state that earlier runs have left in the journal."""

    pending: list[Pair]
    originals: list[UndoRecord]
    failing: set[str]
    generation: Generation | None
    aliases: dict[str, str]
    complete: bool = True
    """Whether nothing was lost; otherwise there may be pending refreshes that are unknown."""


class Store:
    """An open journal file. Every method raises sqlite3.Error for an error of the disk or a damaged file."""

    _log: os.stat_result | None = None
    """The identity of the WAL, if there is one."""

    def __init__(self, directory: str) -> None:
        """Open the file, or create it. Raises UnusableError for a file of another program or a newer version."""
        self._path = os.path.join(directory, FILE_NAME)
        self._connection = open_for_writing(self._path)
        self._identity = os.stat(self._path)
        with suppress(FileNotFoundError):  # a file system without shared memory allows no WAL
            self._log = os.stat(f"{self._path}-wal")
        self.closed = False
        self._busy = threading.Lock()
        self._synchronous = "NORMAL"
        self._unpruned = retention.PRUNE_EVERY
        self._diffs = DiffTable(self._connection)
        self._connection.create_function("in_force", 1, lambda ref: ref in self.in_force)
        self.in_force: Collection[str] = frozenset()
        """The refs of the manifest; their digests are never deleted."""

    def load(self) -> Found:
        """The state that a run needs at its start."""
        execute = self._connection.execute
        pending = execute(PENDING).fetchall()
        originals = [UndoRecord(*row) for row in execute(ORIGINALS)]
        failing = {ref for ref, result, _ in execute(_LAST_RESULTS) if is_failing(result)}
        newest = execute(
            "SELECT id, time, manifest, digest FROM generations ORDER BY id DESC LIMIT 1"
        ).fetchone()
        generation = Generation(*newest) if newest else None
        if generation and not has_table(self._connection, "members"):
            # Without members, the same manifest begins a new generation, which writes them.
            generation = generation._replace(digest="")
        aliases = dict(execute("SELECT name, ref FROM aliases"))
        return Found(pending, originals, failing, generation, aliases)

    def digests(self, refs: Sequence[str]) -> dict[str, str]:
        """Ref -> digest, without the refs that were never applied."""
        found: dict[str, str] = {}
        for first in range(0, len(refs), _ASKED_AT_ONCE):
            chunk = refs[first : first + _ASKED_AT_ONCE]
            places = ",".join("?" * len(chunk))
            query = f"SELECT ref, digest FROM resources WHERE ref IN ({places})"  # noqa: S608 - question marks only
            rows = self._connection.execute(query, chunk)
            found.update(rows.fetchall())
        return found

    def write(self, batch: Batch, *, durable: bool) -> None:
        """Write the batch in one transaction. ``durable``: it and everything before it is on disk when this returns."""
        with self._busy:
            self._write(batch, durable=durable)

    def close(self) -> None:
        """Close the file without a checkpoint. The next run reads the WAL, too."""
        self.closed = True
        with self._busy:
            close_without_checkpoint(self._connection, self._path)

    def is_lost(self) -> bool:
        """Whether the file or its WAL was removed, replaced or emptied, so that all writes are lost with the process."""
        try:
            return not self._is_whole() or (
                self._log is not None and not os.path.samestat(os.stat(f"{self._path}-wal"), self._log)
            )
        except FileNotFoundError:
            return True
        except OSError:  # a disk error proves nothing
            return False

    def save_log(self) -> None:
        """Copy the WAL, which may have been removed, into the file, if that is still there."""
        with self._busy, suppress(OSError, sqlite3.Error):
            if self._is_whole():
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _is_whole(self) -> bool:
        found = os.stat(self._path)
        return os.path.samestat(found, self._identity) and found.st_size > 0

    def _write(self, batch: Batch, *, durable: bool) -> None:
        self._synchronize("FULL" if durable else "NORMAL")
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._insert(batch)
            self._unpruned += len(batch.events)
            is_due = self._unpruned >= retention.PRUNE_EVERY or self._diffs.is_due
            if is_due and not durable:
                self._unpruned = 0
                retention.prune(connection, len(self.in_force), self._diffs)
            connection.execute("COMMIT")
        except BaseException:
            self._diffs.forget_size()
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def _synchronize(self, wanted: str) -> None:
        if self._synchronous != wanted:
            self._connection.execute(f"PRAGMA synchronous = {wanted}")
            self._synchronous = wanted

    def _insert(self, batch: Batch) -> None:
        many = self._connection.executemany
        many(
            "INSERT INTO refreshes (source, subscriber, owed_since, paid) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET owed_since = excluded.owed_since, paid = coalesce(excluded.paid, paid)",
            ((*pair, *state) for pair, state in batch.refreshes.items()),
        )
        self._insert_originals(batch)
        # In the order of the table: rows in any other order change its pages again and again, with a small cache.
        insert(
            self._connection,
            "INSERT OR REPLACE INTO resources (ref, digest, applied)",
            sorted([(ref, *applied) for ref, applied in batch.resources.items() if applied is not None]),
        )
        many(
            "DELETE FROM resources WHERE ref = ?",
            ((ref,) for ref, applied in batch.resources.items() if applied is None),
        )
        many(
            "INSERT OR REPLACE INTO generations (id, time, manifest, digest) VALUES (?, ?, ?, ?)",
            batch.generations,
        )
        self._insert_names(batch)
        self._insert_events(batch)

    def _insert_events(self, batch: Batch) -> None:
        """Insert with our own ids, counting up as SQLite does, because their diffs need the same ids."""
        (newest,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
        made = [row(event, generation) for event, generation in batch.events]
        if batch.dropped:
            made.append(loss(batch.dropped, time.time()))
        rows = list(enumerate(made, newest + 1))
        insert(
            self._connection,
            "INSERT INTO events (id, time, event, ref, result, generation, record)",
            [(number, *each[:6]) for number, each in rows],
        )
        found = ((number, each.diffs) for number, each in rows if each.diffs is not None)
        self._diffs.write(found)

    def _insert_names(self, batch: Batch) -> None:
        """Replace the aliases and members with those of the newest manifest."""
        execute, many = self._connection.execute, self._connection.executemany
        if batch.aliases is not None:
            execute("DELETE FROM aliases")
            many("INSERT INTO aliases (name, ref) VALUES (?, ?)", batch.aliases.items())
        if batch.members is not None:
            execute(MEMBERS)
            execute("DELETE FROM members")
            insert(self._connection, "INSERT INTO members (ref)", [(ref,) for ref in batch.members])

    def _insert_originals(self, batch: Batch) -> None:
        """Insert undo records in the order of the changes, so that their ids keep that order."""
        many = self._connection.executemany
        many("DELETE FROM originals WHERE ref = ?", ((ref,) for ref in batch.originals))
        many(
            "INSERT INTO originals (ref, manifest, kind, properties) VALUES (?, ?, ?, ?)",
            filter(None, batch.originals.values()),
        )


def open_store(directory: str) -> tuple[Store, Found, str | None]:
    """Open and load the journal in ``directory``.

    An unusable journal is moved aside; then the third value is a message about that, else None.

    Raises OSError and sqlite3.Error for an error of the disk.
    """
    try:
        return (*_open(directory), None)
    except (UnusableError, UnicodeDecodeError, sqlite3.DatabaseError) as error:
        if not beyond_repair(error):
            raise
        aside = set_aside(directory)
        saved = recover(aside)
        store = Store(directory)
        try:
            store.write(_batch_of(saved), durable=True)
            note = f"the journal can't be used ({error}); it was moved to {aside} and a new one was started; {saved.words}"
            return store, store.load()._replace(complete=saved.complete), note
        except BaseException:
            store.close()
            raise


def _batch_of(saved: Recovered) -> Batch:
    now = time.time()
    return Batch(
        refreshes=dict.fromkeys(saved.pending, (now, None)),
        originals={original.ref: original for original in saved.originals},
    )


def beyond_repair(error: Exception) -> bool:
    """Whether ``error`` means that the file is damaged; False if the disk failed, or the file is locked."""
    # SQLite quotes a damaged table name that is not valid text.
    if isinstance(error, (UnusableError, UnicodeDecodeError)):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # not from SQLite, but from decoding what it has read
        return isinstance(error, sqlite3.OperationalError)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in _THE_FILE


def set_aside(directory: str) -> str:
    """Move the journal and its WAL aside; return the new path."""
    path = os.path.join(directory, FILE_NAME)
    aside = f"{path}{_BROKEN}{time.strftime('%Y%m%dT%H%M%S')}"
    while os.path.lexists(aside):
        aside += "-again"
    for companion in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(path + companion, aside + companion)
    return aside


def has_set_aside(directory: str) -> bool:
    """Whether a journal that was moved aside is still there; also True if that can't be found out."""
    try:
        return any(name.startswith(FILE_NAME + _BROKEN) for name in os.listdir(directory))
    except OSError:
        return True


def _open(directory: str) -> tuple[Store, Found]:
    store = Store(directory)
    try:
        return store, store.load()
    except BaseException:
        store.close()
        raise
