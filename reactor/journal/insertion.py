"""Inserts many rows with few calls of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any

ROWS_AT_ONCE = 100
"""Rows of one statement. All their values must fit into the 999 parameters that every SQLite allows."""


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Execute ``statement``, an INSERT without its VALUES, for ``rows`` of the same length. Raises sqlite3.Error.

    The lock of Python's interpreter is given up and taken again for each call of SQLite. With one call for each row, a
    thread that writes and the event loop would take turns for every row, which costs more than the rows.
    """
    if not rows:
        return
    places = f"({','.join('?' * len(rows[0]))})"
    whole = len(rows) - len(rows) % ROWS_AT_ONCE
    for first in range(0, whole, ROWS_AT_ONCE):
        values = [*chain.from_iterable(rows[first : first + ROWS_AT_ONCE])]
        connection.execute(f"{statement} VALUES {','.join([places] * ROWS_AT_ONCE)}", values)
    connection.executemany(f"{statement} VALUES {places}", rows[whole:])
