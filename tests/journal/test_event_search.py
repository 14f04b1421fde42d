"""The newest events of a resource are found in all blocks, also in a journal of an earlier version."""

import random
import sqlite3
from contextlib import closing

import pytest

from reactor.journal.event_search import _BITS, _COLUMNS, newest_of, newest_of_each
from reactor.journal.history import Filter
from reactor.journal.schema import FILE_NAME
from tests.journal.journal_worlds import blocked, changed, failed, history_of, journal_in, ok

BLOCK = 1 << _BITS
FORMER_INDEX = "CREATE INDEX events_of_ref ON events (ref, id, result) WHERE ref IS NOT NULL"
INDEXES = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'events' AND sql IS NOT NULL"


@pytest.fixture(scope="module")
def long_journal(tmp_path_factory):
    """A journal with a few blocks of events, whose ids do not begin with 1."""
    directory = tmp_path_factory.mktemp("long")
    with journal_in(directory):
        pass
    chance = random.Random(1)
    refs = [None, "file#/often", "file#/often", "file#/rare"]
    with opened(directory) as connection:
        for number in range(BLOCK // 2, 4 * BLOCK + 5):
            ref = chance.choice(refs) if number < 3 * BLOCK else chance.choice(refs[:3])
            row = (number, number, "checked", ref, chance.choice([None, "changed", "failed"]), 1, "{}")
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return directory


def opened(directory):
    return closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None))


def query_of(connection):
    return lambda statement, values: connection.execute(statement, values).fetchall()


def make_former(connection):
    """What an earlier version of reactor has made."""
    connection.execute("DROP INDEX events_by_block")
    connection.execute(FORMER_INDEX)


@pytest.fixture(params=["this version", "an earlier version"])
def connection(request, long_journal):
    with opened(long_journal) as connection:
        connection.execute("BEGIN")
        if request.param == "an earlier version":
            make_former(connection)
        yield connection
        connection.execute("ROLLBACK")


@pytest.mark.parametrize("ref", ["file#/often", "file#/rare", "file#/never"])
@pytest.mark.parametrize("condition", ["TRUE", "result = 'failed'", "result IS NOT NULL"])
def test_the_search_finds_the_newest_events_of_a_ref(connection, ref, condition):
    everything = connection.execute(f"{_COLUMNS} WHERE ref = ? AND {condition}", (ref,)).fetchall()
    chance = random.Random(2)
    for _ in range(40):
        after, before = chance.randrange(5 * BLOCK), chance.choice([None, chance.randrange(5 * BLOCK)])
        most = chance.choice([1, 7, 3000])
        wanted = [row for row in everything if after < row[0] and (before is None or row[0] < before)]
        found = newest_of(query_of(connection), ref, condition, most=most, after=after, before=before)
        assert found == sorted(wanted, reverse=True)[:most]


def test_the_search_finds_the_newest_event_of_each_ref_and_result(connection):
    query = query_of(connection)
    wanted = [
        newest_of(query, ref, f"result = '{result}'")[0]
        for ref in ("file#/often", "file#/rare")
        for result in ("changed", "failed")
    ]
    assert newest_of_each(query) == sorted(wanted)


def test_a_search_reads_no_events_of_others(connection):
    statements = []
    connection.set_trace_callback(statements.append)
    newest_of(query_of(connection), "file#/rare", "result = 'failed'")
    connection.set_trace_callback(None)
    (index,) = (name for (name,) in connection.execute(INDEXES) if name != "troubles")
    searches = [statement for statement in statements if "file#/rare" in statement]
    assert len(searches) == 3  # it is in neither of the two newest blocks
    for statement in searches:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        assert [step[-1].partition(" (")[0] for step in plan] == [f"SEARCH events USING INDEX {index}"]
        assert "ref=? AND id>? AND id<?" in plan[0][-1]


def test_an_empty_journal_has_no_events(tmp_path):
    with journal_in(tmp_path):
        pass
    with opened(tmp_path) as connection:
        assert newest_of(query_of(connection), "file#/a") == []


def test_a_journal_of_an_earlier_version_is_read_and_then_gets_the_index(tmp_path):
    with journal_in(tmp_path) as journal:
        for event in (
            failed("file#/a"),
            changed("file#/a"),
            blocked("file#/b", "file#/c"),
            failed("file#/c"),
        ):
            journal.record(event)
    with opened(tmp_path) as connection:
        make_former(connection)
    with history_of(tmp_path) as history:
        assert history.last("file#/a").result == "changed"
        assert history.last("file#/a", result="failed").id == 1
        last, changes = history.last_of_each()
        assert {ref: entry.result for ref, entry in last.items()} == {
            "file#/a": "changed", "file#/b": "blocked", "file#/c": "failed",
        }  # fmt: skip
        assert [*changes] == ["file#/a"]
    with journal_in(tmp_path) as journal:
        journal.record(ok("file#/a"))  # is not kept: the last event of it was no failure
        journal.record(ok("file#/b"))
    with opened(tmp_path) as connection:
        assert {name for (name,) in connection.execute(INDEXES)} == {"events_by_block", "troubles"}
    with history_of(tmp_path) as history:
        assert [entry.ref for entry in history.entries(Filter(ref="file#/b"))] == ["file#/b", "file#/b"]
        assert history.last("file#/a").id == 2
