"""Reads what must not be lost out of a journal that is of no use otherwise: broken, or of another version."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from reactor.journal.debts import Pair
from reactor.journal.originals import Original
from reactor.journal.schema import APPLICATION, address

OWED = "SELECT source, subscriber FROM refreshes WHERE owed_since IS NOT NULL"
ORIGINALS = "SELECT ref, manifest, kind, properties FROM originals ORDER BY id"


@dataclass(slots=True, eq=False, repr=False)
class Salvage:
    """What could be read; ``complete`` when that is all there was."""

    owed: list[Pair] = field(default_factory=list)
    originals: list[Original] = field(default_factory=list)
    complete: bool = True

    @property
    def words(self) -> str:
        """What people should know of it."""
        if self.complete:
            return "refreshes owed from before are kept"
        return f"{len(self.owed)} refreshes owed from before could be read, others are forgotten"


def salvage(path: str) -> Salvage:
    """What can be read of the file at ``path``, row by row up to the damage. Never raises."""
    found = Salvage()
    if os.path.islink(path) or not os.path.isfile(path):
        found.complete = False
        return found
    try:
        with closing(sqlite3.connect(address(path, "rw"), uri=True)) as connection:
            if connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,):
                _read(connection, OWED, found.owed, found)
                rows: list[Any] = []
                _read(connection, ORIGINALS, rows, found)
                found.originals = [Original(*row) for row in rows]
            else:
                found.complete = False
    except (sqlite3.Error, UnicodeDecodeError):
        found.complete = False
    return found


def _read(connection: sqlite3.Connection, query: str, rows: list[Any], found: Salvage) -> None:
    """Add all rows before the first that can't be read."""
    try:
        found_rows = connection.execute(query)
        rows.extend(row for row in found_rows if all(isinstance(value, str | None) for value in row))
    except (sqlite3.Error, UnicodeDecodeError):
        found.complete = False
