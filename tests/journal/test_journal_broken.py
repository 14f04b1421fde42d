"""A journal or a disk of no use costs memory, loudly, and never the run."""

import dataclasses
import errno
import os
import resource
import shutil
import sqlite3
import stat
import time
from contextlib import closing, contextmanager

import pytest
import trio
from journal_worlds import changed, fold, history_of, journal_in, kept_refs, owed_on_disk, told_by, wait_for

from reactor.engine.events import Cause, Ended, Event
from reactor.journal import row_validation, write_buffer, writer
from reactor.journal.history import History, HistoryError
from reactor.journal.schema import FILE_NAME, is_garbage, open_for_writing
from reactor.journal.store import beyond_repair
from reactor.resources.file import File


def filled(directory):
    with journal_in(directory) as journal:
        for number in range(500):
            journal.record(changed(f"file#/{number}"))
        trio.run(journal.intend, "file#/a", ["exec#x"])
    fold(directory)


def broken_text(directory):
    (directory / FILE_NAME).write_text("This is no database.\n" * 1000)


def broken_middle(directory):
    path = directory / FILE_NAME
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))


def truncated(directory):
    os.truncate(directory / FILE_NAME, (directory / FILE_NAME).stat().st_size // 3)


def foreign(directory):
    (directory / FILE_NAME).unlink()
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def newer(directory):
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")


def without_a_table(directory):
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("DROP TABLE refreshes")


def with_a_table_whose_name_is_no_text(directory):
    content = (directory / FILE_NAME).read_bytes()
    for right, wrong in [(b"eventsevents", b"\xf0ventsevents"), (b"TABLE events", b"TABLX events")]:
        assert content.count(right) == 1
        content = content.replace(right, wrong)
    (directory / FILE_NAME).write_bytes(content)


def with_a_ref_that_is_no_text(directory):
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("UPDATE refreshes SET source = CAST(x'66ff' AS TEXT)")
        connection.commit()


def a_directory(directory):
    (directory / FILE_NAME).unlink()
    (directory / FILE_NAME).mkdir()


def a_symbolic_link(directory):
    (directory / FILE_NAME).rename(directory / "elsewhere")
    (directory / FILE_NAME).symlink_to(directory / "elsewhere")


HARMS = [
    broken_text,
    broken_middle,
    truncated,
    foreign,
    newer,
    without_a_table,
    with_a_table_whose_name_is_no_text,
    with_a_ref_that_is_no_text,
    a_directory,
    a_symbolic_link,
]


@pytest.mark.parametrize("harm", HARMS)
def test_a_journal_that_is_unusable_is_moved_aside_and_reported(directory, harm):
    filled(directory)
    harm(directory)
    notes = []
    with journal_in(directory, notes) as journal:
        journal.record(changed("file#/new"))
    (note,) = notes
    (aside,) = directory.glob(f"{FILE_NAME}.broken-????????T??????")
    assert str(aside) in note
    assert kept_refs(directory) == ["file#/new"]


def test_two_broken_journals_in_a_second_are_both_kept(directory):
    for _ in range(2):
        broken_text(directory)
        journal_in_notes = []
        with journal_in(directory, journal_in_notes):
            pass
        fold(directory)
    assert len(list(directory.glob(f"{FILE_NAME}.broken-*"))) == 2


def test_an_empty_file_has_lost_what_it_held_and_says_so(directory):
    """A new one never is empty, so a power failure has made it so."""
    (directory / FILE_NAME).touch()
    notes = []
    with journal_in(directory, notes) as journal:
        assert not journal.is_complete
    assert len(notes) == 1
    assert "it is empty" in notes[0]
    assert "others are lost" in notes[0]
    with journal_in(directory) as journal:
        assert journal.is_complete


def test_a_file_that_was_emptied_gives_back_what_its_wal_holds(directory):
    with journal_in(directory) as journal:
        trio.run(journal.intend, "file#/a", ["exec#x"])
    os.truncate(directory / FILE_NAME, 0)
    notes = []
    with journal_in(directory, notes) as journal:
        assert journal.pending_refreshes() == {"exec#x": ["file#/a"]}
    assert len(notes) == 1


def test_a_run_that_was_killed_while_it_made_its_journal_has_lost_nothing(directory):
    (directory / f"{FILE_NAME}.new").write_text("half of it")
    with journal_in(directory) as journal:
        assert journal.is_complete
    assert not (directory / f"{FILE_NAME}.new").exists()


def test_no_journal_is_made_through_a_link_that_appears_at_the_last_moment(directory, monkeypatch):
    monkeypatch.setattr(os, "unlink", lambda new: os.symlink(directory / "elsewhere", new))
    with pytest.raises(FileExistsError):
        open_for_writing(str(directory / FILE_NAME))
    assert not (directory / "elsewhere").exists()


def test_the_journal_is_for_its_owner_only(directory):
    journal = told_by(directory)
    trio.run(journal.intend, "file#/a", ["exec#x"])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    journal.close()
    assert set(modes) == {FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"}
    assert set(modes.values()) == {0o600}


async def test_one_that_breaks_under_a_run_is_begun_again_with_all_that_is_pending(directory):
    notes = []
    with journal_in(directory, notes) as journal:
        await journal.intend("file#/a", ["exec#x"])
        journal.applied(File(name="/a", ensure="directory", owner="root", group="root", mode="0755"))
        with closing(sqlite3.connect(directory / FILE_NAME)) as vandal:
            vandal.execute("DROP TABLE refreshes")
        await journal.intend("file#/b", ["exec#x"])
        assert owed_on_disk(directory) == {("file#/a", "exec#x"), ("file#/b", "exec#x")}
    (note,) = notes
    assert "can't be used" in note
    with history_of(directory) as history:
        assert history.refs() == ["file#/a"]


async def test_one_that_breaks_while_the_disk_takes_nothing_is_begun_again_once_it_does(directory):
    notes = []
    with journal_in(directory, notes) as journal:
        await journal.intend("file#/a", ["exec#x"])
        with closing(sqlite3.connect(directory / FILE_NAME)) as vandal:
            vandal.execute("DROP TABLE refreshes")
        with no_room():
            await journal.intend("file#/b", ["exec#x"])
        await journal.intend("file#/c", ["exec#x"])
        assert owed_on_disk(directory) == {(f"file#/{each}", "exec#x") for each in "abc"}
    assert [note.split(":")[0].split(" (")[0] for note in notes] == [
        "the journal can't be used",
        "the journal can't be written",
        "the journal is written again",
    ]


@pytest.mark.parametrize(
    ("error", "is_lost"), [(FileNotFoundError(), True), (OSError(errno.EIO, "no answer"), False)]
)
def test_a_journal_that_the_disk_does_not_show_is_not_lost_yet(directory, monkeypatch, error, is_lost):
    def refuse(_path):
        raise error

    with journal_in(directory) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", refuse)
            found = journal.is_lost()
        assert found is is_lost
        assert not journal.is_lost()


async def test_a_disk_that_takes_no_new_file_is_asked_once_for_each_batch(directory, monkeypatch):
    asked = []

    def refuse(path):
        asked.append(path)
        raise OSError("no room")

    with journal_in(directory, []) as journal:
        with closing(sqlite3.connect(directory / FILE_NAME)) as vandal:
            vandal.execute("DROP TABLE refreshes")
        with monkeypatch.context() as patch:
            patch.setattr(writer, "open_store", refuse)
            for number in range(3):
                await journal.intend(f"file#/{number}", ["exec#x"])
        assert asked == [str(directory)] * 3


@contextmanager
def no_room():
    """No file may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_one_that_is_removed_under_a_run_is_begun_again_with_all_that_is_pending(directory):
    with journal_in(directory) as journal:
        await journal.intend("file#/a", ["exec#x"])
        assert not journal.is_lost()
        shutil.rmtree(directory)
        directory.mkdir()
        assert journal.is_lost()
        await journal.renew()
        assert not journal.is_lost()
        journal.record(changed("file#/a"))
    assert owed_on_disk(directory) == {("file#/a", "exec#x")}
    assert kept_refs(directory) == ["file#/a"]


async def test_one_whose_log_is_removed_under_a_run_keeps_all_that_was_written(directory):
    with journal_in(directory) as journal:
        journal.record(changed("file#/a"))
        await journal.catch_up()
        await journal.intend("file#/a", ["exec#x"])
        (directory / f"{FILE_NAME}-wal").unlink()
        journal.record(changed("file#/b"))
        await journal.catch_up()
        assert journal.is_lost()
        await journal.renew()
        assert not journal.is_lost()
        journal.record(changed("file#/c"))
        await journal.catch_up()
        assert kept_refs(directory) == ["file#/a", "file#/b", "file#/c"]
        assert owed_on_disk(directory) == {("file#/a", "exec#x")}


async def test_one_that_is_emptied_under_a_run_is_begun_again_with_all_that_is_pending(directory):
    with journal_in(directory) as journal:
        await journal.intend("file#/a", ["exec#x"])
        os.truncate(directory / FILE_NAME, 0)
        assert journal.is_lost()
        await journal.renew()
        assert not journal.is_lost()
        assert owed_on_disk(directory) == {("file#/a", "exec#x")}


async def test_a_full_disk_is_reported_once_and_recovered_from(directory, monkeypatch):
    monkeypatch.setattr(writer, "RETRY_INTERVAL", 0.01)
    notes = []
    with journal_in(directory, notes) as journal:
        connection = journal._writer.store._connection
        connection.execute("PRAGMA max_page_count = 1")
        for number in range(200):
            await journal.intend(f"file#/{number}", [f"exec#{'x' * 500}"])
        assert len(list(journal.pending_refreshes())) == 1
        (note,) = notes
        assert "disk is full" in note
        assert "lost when the process ends" in note
        connection.execute("PRAGMA max_page_count = 1000000")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.run)
            await wait_for(lambda: len(notes) == 2)
            nursery.cancel_scope.cancel()
    assert notes[1] == "the journal is written again"
    assert len(owed_on_disk(directory)) == 200


async def test_events_that_get_no_thread_are_written_once_there_is_one(directory, monkeypatch):
    async def refuse(*_arguments, **_options):
        raise RuntimeError("can't start new thread")

    notes = []
    with journal_in(directory, notes) as journal:
        journal.record(changed("file#/x"))
        with monkeypatch.context() as patch:
            patch.setattr(trio.to_thread, "run_sync", refuse)
            await journal._writer.catch_up()
        assert [note for note in notes if "no thread can be started" in note] == notes != []
        assert kept_refs(directory) == []
        await journal._writer.catch_up()
        assert notes[1:] == ["the journal is written again"]
        assert kept_refs(directory) == ["file#/x"]


def test_events_that_a_disk_does_not_take_are_dropped_oldest_first_and_counted(directory, monkeypatch):
    monkeypatch.setattr(write_buffer, "EVENT_LIMIT", 10)
    with journal_in(directory) as journal:
        for number in range(25):
            journal.record(changed(f"file#/{number}"))
    with history_of(directory) as history:
        *kept, loss = history.entries()
    assert [entry.ref for entry in kept] == [f"file#/{number}" for number in range(15, 25)]
    assert (loss.event, loss.record["count"]) == ("recordslost", 15)


def test_a_reader_says_what_is_wrong(directory):
    with pytest.raises(HistoryError, match="nothing has run yet"):
        History(str(directory))
    broken_text(directory)
    with pytest.raises(HistoryError, match="not a database"):
        History(str(directory))
    (directory / FILE_NAME).unlink()
    filled(directory)
    newer(directory)
    with pytest.raises(HistoryError, match="format 99"):
        History(str(directory))
    with_a_table_whose_name_is_no_text(directory)
    with pytest.raises(HistoryError, match="can't read the journal"):
        History(str(directory))


def test_a_reader_does_not_wait_for_a_pipe(directory):
    os.mkfifo(directory / FILE_NAME)
    with pytest.raises(HistoryError, match="not a regular file") as caught:
        History(str(directory))
    assert caught.value.hint == "remove it: the next run makes a new one"


def test_a_resource_of_a_lost_journal_is_new(directory):
    file = File(name="/a", ensure="directory", owner="root", group="root", mode="0755")
    with journal_in(directory) as journal:
        journal.applied(file)
    fold(directory)
    broken_text(directory)
    with journal_in(directory, []) as journal:
        assert journal.cause_of(file) is Cause.INITIAL


def test_a_reader_of_a_broken_journal_is_reported_so(directory):
    filled(directory)
    broken_middle(directory)
    with pytest.raises(HistoryError, match="can't read the journal"), history_of(directory) as history:
        list(history.entries())


@pytest.mark.parametrize(
    "damaged",
    [
        "substr(record, 1, 20)",
        "'5'",
        "'{}'",
        "replace(record, '\"causes\"', '\"cauzes\"')",
        "replace(record, '\"error\":null', '\"error\":[1]')",
        'replace(record, \'"causes":["\', \'"causes":["x\')',
        'replace(record, \'"result":"\', \'"result":"x\')',
    ],
)
def test_a_reader_of_a_damaged_event_is_reported_so(directory, damaged):
    filled(directory)
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute(f"UPDATE events SET record = {damaged} WHERE id = 7")
        connection.commit()
    with (
        pytest.raises(HistoryError, match="event 7 in the journal is damaged"),
        history_of(directory) as history,
    ):
        list(history.entries())


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("INSERT INTO aliases VALUES (x'ff', 'file#/a')", lambda history: history.aliases()),
        ("INSERT INTO aliases VALUES ('file#a', x'ff')", lambda history: history.aliases()),
        ("INSERT INTO resources VALUES (x'ff', '', 1.0)", lambda history: history.refs()),
        ("INSERT INTO resources VALUES ('file#/a', '', 'x')", lambda history: history.applied_since("file#/a")),
        ("INSERT INTO refreshes VALUES ('a', 'b', x'ff', NULL)", lambda history: history.pending_refreshes()),
        ("UPDATE members SET ref = x'ff'", lambda history: history.present()),
    ],
)  # fmt: skip
def test_a_reader_of_a_value_of_the_wrong_type_is_reported_so(directory, damage, read):
    with journal_in(directory) as journal:
        journal.prepare_generation({"file#/b": File(name="/b", ensure="absent")})()
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute(damage)
        connection.commit()
    with pytest.raises(HistoryError, match="wrong type"), history_of(directory) as history:
        read(history)


def test_an_event_of_a_version_that_knew_fewer_optional_fields_is_read(directory):
    with journal_in(directory) as journal:
        journal.record(Ended(time.time(), counts={"ok": 1}, changes=0, duration=0.1, reason="stopped"))
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        older = "json_remove(record, '$.left', '$.outdated')"
        connection.execute(f"UPDATE events SET record = {older} WHERE event = 'ended'")
        connection.commit()
    with history_of(directory) as history:
        (ended,) = (entry for entry in history.entries() if entry.event == "ended")
    assert (ended.record["left"], ended.record["outdated"]) == (0, [])


def test_every_field_of_every_event_has_a_form_to_be_reported_by():
    every = [
        (field.name, field.type) for kind in Event.__subclasses__() for field in dataclasses.fields(kind)
    ]
    assert {form for name, form in every if name not in row_validation._LEFT_OUT} <= {*row_validation._SHAPES}
    assert {name for name, _ in every} >= row_validation._LEFT_OUT


@pytest.mark.parametrize("damaged", ["[", "5"])
def test_damaged_diffs_are_reported_with_the_number_of_their_event(directory, damaged):
    with journal_in(directory) as journal:
        journal.record(changed(diffs=("+x\n",)))
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("UPDATE diffs SET texts = ?", (damaged,))
        connection.commit()
    with history_of(directory) as history:
        (entry,) = history.entries()
        with pytest.raises(HistoryError, match=f"the diffs of event {entry.id} in the journal are damaged"):
            history.diffs(entry)


@pytest.mark.parametrize(
    ("head", "is_bad"),
    [
        (b"\x37\x7f\x06\x82" + bytes(28), False),
        (b"\x37\x7f\x06\x83" + bytes(100), False),
        (bytes(32), True),
        (bytes(31), False),
        (b"", False),
    ],
    ids=["little-endian", "big-endian", "no header", "too short for a header", "empty"],
)
def test_a_write_ahead_log_is_damaged_if_its_header_is_another(tmp_path, head, is_bad):
    (tmp_path / "wal").write_bytes(head)
    assert is_garbage(str(tmp_path / "wal")) is is_bad
    assert not is_garbage(str(tmp_path / "missing"))


def failure(code, kind=sqlite3.DatabaseError):
    """An error as SQLite raises it."""
    error = kind("it went wrong")
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [
        (failure(sqlite3.SQLITE_CORRUPT), True),
        (failure(sqlite3.SQLITE_CORRUPT | 3 << 8), True),
        (failure(sqlite3.SQLITE_CONSTRAINT | 7 << 8), True),
        (failure(sqlite3.SQLITE_IOERR_SHORT_READ), True),
        (failure(sqlite3.SQLITE_IOERR | 1 << 8), False),
        (failure(sqlite3.SQLITE_IOERR | 3 << 8), False),
        (failure(sqlite3.SQLITE_FULL), False),
        (failure(sqlite3.SQLITE_BUSY | 2 << 8), False),
        (failure(sqlite3.SQLITE_CANTOPEN | 1 << 8), False),
        (failure(None, sqlite3.OperationalError), True),
        (failure(None), False),
        (OSError("no space"), False),
    ],
)
def test_a_damaged_file_is_told_from_a_disk_that_fails(error, is_damage):
    assert beyond_repair(error) is is_damage
