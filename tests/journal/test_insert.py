"""Rows are inserted with few calls of SQLite: each gives up the interpreter's lock, and gets it back late."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from reactor.journal.schema import insert


@pytest.mark.parametrize(("count", "statements"), [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (2500, 3)])
def test_a_thousand_rows_are_one_call(count: int, statements: int):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        assert calls_for(connection, count) == statements


@pytest.mark.parametrize(("count", "statements"), [(499, 1), (499 + 1, 2)])
def test_a_call_has_no_more_values_than_the_library_allows(count: int, statements: int):
    """Before version 3.32, that were 999."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        assert calls_for(connection, count) == statements


def calls_for(connection: sqlite3.Connection, count: int) -> int:
    """Insert ``count`` rows of two values; return the number of statements."""
    connection.execute("CREATE TABLE pairs (a, b)")
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    rows = [(number, str(number)) for number in range(count)]
    insert(connection, "INSERT INTO pairs (a, b)", rows)
    connection.set_trace_callback(None)
    assert connection.execute("SELECT a, b FROM pairs ORDER BY a").fetchall() == rows
    return len(seen)
