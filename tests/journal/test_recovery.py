"""What is owed is read out of a journal that is of no use otherwise."""

import os
import sqlite3
from contextlib import closing

import pytest
import trio
from journal_worlds import changed, fold, journal_in, owed_on_disk

from reactor.journal.history import History
from reactor.journal.recovery import recover, recover_copy
from reactor.journal.schema import APPLICATION, FILE_NAME
from reactor.resources.file import File

REVERSAL = File(name="/a", ensure="absent")


def filled(directory):
    with journal_in(directory) as journal:
        for number in range(2000):
            journal.record(changed(f"file#/{number}"))
        trio.run(journal.intend, "file#/a", ["exec#x", "exec#y"])
        trio.run(journal.record_reversal, "file#/a", REVERSAL)


def other_version(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def without_another_table(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE generations")


def broken_events(path):
    """Damage a page of the index of events."""
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'troubles'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


@pytest.mark.parametrize("harm", [other_version, without_another_table, broken_events])
def test_what_is_pending_is_kept_when_the_rest_is_unusable(directory, harm):
    filled(directory)
    harm(directory / FILE_NAME)
    notes = []
    with journal_in(directory, notes) as journal:
        assert set(journal.pending_refreshes()) == {"exec#x", "exec#y"}
        assert owed_on_disk(directory) == {("file#/a", "exec#x"), ("file#/a", "exec#y")}
        assert journal.reversals({}) == [REVERSAL]
    (note,) = notes
    assert note.endswith("; pending refreshes are kept")


def test_a_state_directory_may_have_a_name_that_is_no_text(tmp_path):
    directory = tmp_path / os.fsdecode(b"\xff")
    directory.mkdir(mode=0o700)
    filled(directory)
    other_version(directory / FILE_NAME)
    with journal_in(directory, []) as journal:
        assert set(journal.pending_refreshes()) == {"exec#x", "exec#y"}
        with closing(History(str(directory))) as history:
            assert {debt.subscriber for debt in history.refreshes()} == {"exec#x", "exec#y"}


def test_a_damaged_record_of_pending_refreshes_is_read_up_to_the_damage(directory):
    with journal_in(directory) as journal:
        for number in range(300):
            trio.run(journal.intend, "file#/a", [f"exec#{number:04}{'x' * 100}"])
    fold(directory)
    path = directory / FILE_NAME
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = path.read_bytes()
    last = max(data.find(f"exec#{number:04}".encode()) for number in (297, 298, 299)) // size
    with path.open("r+b") as file:
        file.seek(last * size)
        file.write(b"\xa5" * size)
    notes = []
    with journal_in(directory, notes) as journal:
        kept = len(list(journal.pending_refreshes()))
    assert 0 < kept < 300
    assert notes[0].endswith(f"; {kept} pending refreshes could be read, others are lost")


def test_nothing_is_taken_from_the_database_of_another_program(directory):
    filled(directory)
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION + 1}")
    notes = []
    with journal_in(directory, notes) as journal:
        assert list(journal.pending_refreshes()) == []
        assert journal.reversals({}) == []
    assert notes[0].endswith("; 0 pending refreshes could be read, others are lost")


def test_where_there_is_no_journal_nothing_is_lost(tmp_path):
    for directory in (tmp_path, tmp_path / "missing"):
        found = recover_copy(str(directory))
        assert (found.pending, found.originals, found.complete) == ([], [], True)
    (tmp_path / FILE_NAME).mkdir()
    assert not recover_copy(str(tmp_path)).complete


def test_what_is_no_file_may_have_lost_something(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "text").write_text("no database, and long enough to be one" * 100)
    for name in ("link", "missing", ".", "text"):
        found = recover(str(tmp_path / name))
        assert (found.pending, found.complete) == ([], False), name
        assert found.words == "0 pending refreshes could be read, others are lost"
