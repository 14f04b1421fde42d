"""Recovers pending refreshes and undo records from a journal that is damaged or of another version."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from reactor.journal.refresh_log import Pair
from reactor.journal.schema import APPLICATION, FILE_NAME, ORIGINALS, address, is_garbage
from reactor.journal.undo_records import UndoRecord

PENDING = "SELECT source, subscriber FROM refreshes WHERE owed_since IS NOT NULL"
_PAGE = 4096


@dataclass(slots=True, eq=False, repr=False)
class Recovered:
    """The records that could be read. ``complete`` says that nothing was lost."""

    pending: list[Pair] = field(default_factory=list)
    originals: list[UndoRecord] = field(default_factory=list)
    complete: bool = True

    @property
    def words(self) -> str:
        """The result of the recovery, for a message."""
        if self.complete:
            return "pending refreshes are kept"
        return f"{len(self.pending)} pending refreshes could be read, others are lost"


def recover_copy(directory: str) -> Recovered:
    """The records of the journal in ``directory``, if the disk is full or read-only, so that it can't be opened.

    A copy is read, because SQLite creates files beside its database. Never raises.
    """
    import shutil  # noqa: PLC0415 - imports compressors, and few runs need it
    import tempfile  # noqa: PLC0415

    path = os.path.join(directory, FILE_NAME)
    if not os.path.lexists(path):
        return Recovered()
    try:
        with tempfile.TemporaryDirectory(prefix="reactor-") as copies:
            copy = os.path.join(copies, FILE_NAME)
            for companion in ("", "-wal"):
                if not companion or os.path.exists(path + companion):
                    shutil.copyfile(path + companion, copy + companion, follow_symlinks=False)
            return recover(copy)
    except OSError:
        return Recovered(complete=False)


def recover(path: str) -> Recovered:
    """The records of the file at ``path``, row by row up to the damage. Never raises.

    A file that is empty after a power failure may have all its records in the WAL, which SQLite reads only if the file has
    a page.
    """
    found = Recovered()
    if os.path.islink(path) or not os.path.isfile(path):
        found.complete = False
        return found
    try:
        found.complete = not is_garbage(f"{path}-wal")
        if not os.path.getsize(path):
            os.truncate(path, _PAGE)
        with closing(sqlite3.connect(address(path, "rw"), uri=True)) as connection:
            if connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,):
                _read(connection, PENDING, found.pending, found)
                rows: list[Any] = []
                _read(connection, ORIGINALS, rows, found)
                found.originals = [UndoRecord(*row) for row in rows]
            else:
                found.complete = False
    except (OSError, sqlite3.Error, UnicodeDecodeError):
        found.complete = False
    return found


def _read(connection: sqlite3.Connection, query: str, rows: list[Any], found: Recovered) -> None:
    """Add all rows up to the first one that can't be read."""
    try:
        found_rows = connection.execute(query)
        rows.extend(row for row in found_rows if all(isinstance(value, str | None) for value in row))
    except (sqlite3.Error, UnicodeDecodeError):
        found.complete = False
