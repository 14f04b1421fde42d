"""The one connection that writes the journal. Blocking: the journal calls it from a thread."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import NamedTuple

from reactor.clock import is_settled
from reactor.journal import diffs
from reactor.journal.records import troubled
from reactor.journal.recovery import ORIGINALS, OWED, Recovered, recover
from reactor.journal.refresh_log import Pair
from reactor.journal.schema import FILE_NAME, MEMBERS, UnusableError, address, has_table, open_for_writing
from reactor.journal.undo_records import UndoRecord
from reactor.journal.write_buffer import Batch, Generation

ROW_LIMIT = 100_000
"""Events that are kept."""

BYTE_LIMIT = 256 << 20
"""What the file may take, in bytes."""

AGE_LIMIT = 90 * 86400.0
"""Seconds that an event is kept."""

DIGEST_LIMIT = 100_000
"""Resources that are remembered without being in the manifest."""

PRUNE_EVERY = 1000
"""Rows written between two looks at the limits."""

_BROKEN = ".broken-"
_PRUNED_AT_ONCE = 5000
_ASKED_AT_ONCE = 500


_DELETE_DIGESTS = """
DELETE FROM resources WHERE ref IN
(SELECT ref FROM resources WHERE NOT in_force(ref) ORDER BY applied DESC LIMIT -1 OFFSET ?)
"""
_DELETE_OLDEST = "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?)"
_DELETE_OLD = """
DELETE FROM events
WHERE id IN (SELECT id FROM (SELECT id, time FROM events ORDER BY id LIMIT ?) WHERE time < ?)
"""

_THE_FILE = {
    sqlite3.SQLITE_ERROR,  # a table is missing
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_NOTADB,
}

# Those before that of the oldest event: generations only grow, and looking for the least would read the whole file.
_DELETE_GENERATIONS = """
DELETE FROM generations
WHERE id < (SELECT generation FROM events WHERE generation IS NOT NULL ORDER BY id LIMIT 1)
"""


class Found(NamedTuple):
    """What an earlier life has left."""

    owed: list[Pair]
    originals: list[UndoRecord]
    troubled: set[str]
    generation: Generation | None
    aliases: dict[str, str]
    complete: bool = True
    """Whether that is all it has left; else refreshes may be owed that nobody knows of."""


class Store:
    """An open journal file. Every method raises sqlite3.Error when the disk refuses or the file is broken."""

    def __init__(self, directory: str) -> None:
        """Open it, made where missing. Raises UnusableError for a foreign or newer file."""
        self._path = os.path.join(directory, FILE_NAME)
        self._connection = open_for_writing(self._path)
        self._identity = os.stat(self._path)
        self.closed = False
        self._busy = threading.Lock()
        self._synchronous = "NORMAL"
        self._unpruned = PRUNE_EVERY
        self._unpruned_diffs = 0
        self._connection.create_function("in_force", 1, lambda ref: ref in self.in_force)
        self.in_force: frozenset[str] = frozenset()
        """The refs of the manifest: they are never forgotten."""

    def load(self) -> Found:
        """All that has to be known at the start."""
        execute = self._connection.execute
        owed = execute(OWED).fetchall()
        originals = [UndoRecord(*row) for row in execute(ORIGINALS)]
        # Few have ever been in trouble, and only those are looked up: the file may hold what many manifests left.
        once = execute("SELECT DISTINCT ref FROM events WHERE result IN ('failed', 'blocked')").fetchall()
        in_trouble = {ref for (ref,) in once if troubled(self._last_result(ref))}
        newest = execute(
            "SELECT id, time, manifest, digest FROM generations ORDER BY id DESC LIMIT 1"
        ).fetchone()
        generation = Generation(*newest) if newest else None
        if generation and not has_table(self._connection, "members"):
            # The same manifest begins a new generation, and so it is told who is in it.
            generation = generation._replace(digest="")
        aliases = dict(execute("SELECT name, ref FROM aliases"))
        return Found(owed, originals, in_trouble, generation, aliases)

    def digests(self, refs: Sequence[str]) -> dict[str, str]:
        """The digests of those of ``refs`` that were ever applied."""
        found: dict[str, str] = {}
        for first in range(0, len(refs), _ASKED_AT_ONCE):
            chunk = refs[first : first + _ASKED_AT_ONCE]
            places = ",".join("?" * len(chunk))
            query = f"SELECT ref, digest FROM resources WHERE ref IN ({places})"  # noqa: S608 - question marks only
            rows = self._connection.execute(query, chunk)
            found.update(rows.fetchall())
        return found

    def _last_result(self, ref: str) -> str | None:
        query = "SELECT result FROM events WHERE ref = ? AND result IS NOT NULL ORDER BY id DESC LIMIT 1"
        (result,) = self._connection.execute(query, (ref,)).fetchone()
        return str(result)

    def write(self, batch: Batch, *, durable: bool) -> None:
        """Write the batch in one transaction. ``durable``: it is on the disk when this returns, and so is all before."""
        with self._busy:
            self._write(batch, durable=durable)

    def close(self) -> None:
        """Let go of the file and its WAL, which the next run reads as well, however this one ended.

        The last connection that closes brings the WAL into the file, which waits for the disk several times: longer
        than a run that changes nothing takes. One that can only read leaves it as it is.
        """
        self.closed = True
        with (
            self._busy,
            suppress(sqlite3.Error),
            closing(self._connection) as writer,
            closing(sqlite3.connect(address(self._path, "ro"), uri=True)) as reader,
        ):
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
            writer.close()

    def is_lost(self) -> bool:
        """Whether somebody has removed or replaced the file: what is written now is gone with the process."""
        try:
            return not os.path.samestat(os.stat(self._path), self._identity)
        except FileNotFoundError:
            return True
        except OSError:  # a sick disk tells nothing
            return False

    def _write(self, batch: Batch, *, durable: bool) -> None:
        self._synchronize("FULL" if durable else "NORMAL")
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._insert(batch)
            self._unpruned += len(batch.rows)
            is_due = self._unpruned >= PRUNE_EVERY or self._unpruned_diffs >= diffs.PRUNE_EVERY
            if is_due and not durable:
                self._unpruned = self._unpruned_diffs = 0
                self._prune()
            connection.execute("COMMIT")
        except BaseException:
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
        many(
            "INSERT OR REPLACE INTO resources (ref, digest, applied) VALUES (?, ?, ?)",
            ((ref, *applied) for ref, applied in batch.resources.items() if applied is not None),
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
        """With ids of our own, one higher than the other, as SQLite gives them: those of their diffs are the same."""
        (newest,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
        rows = list(enumerate(batch.rows, newest + 1))
        self._connection.executemany(
            "INSERT INTO events (id, time, event, ref, result, generation, record) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((number, *row[:6]) for number, row in rows),
        )
        found = ((number, row.diffs) for number, row in rows if row.diffs is not None)
        self._unpruned_diffs += diffs.write_diffs(self._connection, found)

    def _insert_names(self, batch: Batch) -> None:
        """All that the newest manifest has, in place of what was there."""
        execute, many = self._connection.execute, self._connection.executemany
        if batch.aliases is not None:
            execute("DELETE FROM aliases")
            many("INSERT INTO aliases (name, ref) VALUES (?, ?)", batch.aliases.items())
        if batch.members is not None:
            execute(MEMBERS)
            execute("DELETE FROM members")
            many("INSERT INTO members (ref) VALUES (?)", ((ref,) for ref in batch.members))

    def _insert_originals(self, batch: Batch) -> None:
        """In the order of the changes, which their ids keep."""
        many = self._connection.executemany
        many("DELETE FROM originals WHERE ref = ?", ((ref,) for ref in batch.originals))
        many(
            "INSERT INTO originals (ref, manifest, kind, properties) VALUES (?, ?, ?, ?)",
            filter(None, batch.originals.values()),
        )

    def _prune(self) -> None:
        """Delete the oldest events beyond the limits, so many at once that no batch takes long."""
        execute = self._connection.execute
        horizon = time.time() - AGE_LIMIT if is_settled() else -math.inf
        oldest = execute("SELECT time FROM events ORDER BY id LIMIT 1").fetchone()
        if oldest and oldest[0] < horizon:
            execute(_DELETE_OLD, (_PRUNED_AT_ONCE, horizon))
        (surplus,) = execute("SELECT max(id) - min(id) + 1 - ? FROM events", (ROW_LIMIT,)).fetchone()
        if (surplus or 0) > 0 or self._bytes() > BYTE_LIMIT:
            execute(_DELETE_OLDEST, (max(surplus or 0, _PRUNED_AT_ONCE),))
        self._prune_digests(horizon)
        execute("DELETE FROM refreshes WHERE owed_since IS NULL AND coalesce(paid, 0) < ?", (horizon,))
        execute(_DELETE_GENERATIONS)
        diffs.prune_diffs(self._connection)
        execute("PRAGMA incremental_vacuum(1000)").fetchall()

    def _prune_digests(self, horizon: float) -> None:
        """Forget resources that the manifest does not have: those of long ago, and the oldest of too many."""
        execute = self._connection.execute
        execute("DELETE FROM resources WHERE applied < ? AND NOT in_force(ref)", (horizon,))
        (count,) = execute("SELECT count(*) FROM resources").fetchone()
        if count > DIGEST_LIMIT + len(self.in_force):
            execute(_DELETE_DIGESTS, (DIGEST_LIMIT,))

    def _bytes(self) -> int:
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)


def open_store(directory: str) -> tuple[Store, Found, str | None]:
    """Open the journal in ``directory`` and load it. One of no use is moved aside, which the last value tells.

    Raises OSError and sqlite3.Error when the disk refuses.
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
            note = (
                f"the journal is of no use ({error}); moved it to {aside} and began a new one; {saved.words}"
            )
            return store, store.load()._replace(complete=saved.complete), note
        except BaseException:
            store.close()
            raise


def _batch_of(saved: Recovered) -> Batch:
    now = time.time()
    return Batch(
        refreshes=dict.fromkeys(saved.owed, (now, None)),
        originals={original.ref: original for original in saved.originals},
    )


def beyond_repair(error: Exception) -> bool:
    """Whether the file itself is at fault, and not the disk below it or somebody who holds it."""
    if isinstance(error, (UnusableError, UnicodeDecodeError)):  # SQLite quotes a table whose name is no text
        return True
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # it is not SQLite that complains, but who makes a text of what it has read
        return isinstance(error, sqlite3.OperationalError)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in _THE_FILE


def set_aside(directory: str) -> str:
    """Move the journal and its companions out of the way; return where to."""
    path = os.path.join(directory, FILE_NAME)
    aside = f"{path}{_BROKEN}{time.strftime('%Y%m%dT%H%M%S')}"
    while os.path.lexists(aside):
        aside += "-again"
    for companion in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(path + companion, aside + companion)
    return aside


def has_set_aside(directory: str) -> bool:
    """Whether a journal that was moved out of the way is still there, or that can't be told."""
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
