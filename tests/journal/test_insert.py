"""Rows are inserted with few calls of SQLite: each gives up the interpreter's lock, and gets it back late."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from reactor.journal.schema import insert


@pytest.mark.parametrize(("count", "statements"), [(0, 0), (1, 1), (99, 1), (100, 1), (101, 2), (250, 3)])
def test_a_hundred_rows_are_one_call(count: int, statements: int):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE pairs (a, b)")
        seen: list[str] = []
        connection.set_trace_callback(seen.append)
        rows = [(number, str(number)) for number in range(count)]
        insert(connection, "INSERT INTO pairs (a, b)", rows)
        connection.set_trace_callback(None)
        assert len(seen) == statements
        assert connection.execute("SELECT a, b FROM pairs ORDER BY a").fetchall() == rows
