"""What is kept of a run, how long, and what it says about causes."""

import ctypes
import json
import math
import sqlite3
import time
from collections import deque
from contextlib import closing

import pytest
import trio
from journal_worlds import blocked, changed, failed, history_of, journal_in, kept_refs, ok, wait_for

from reactor import clock
from reactor.engine.events import Cause, Converged, Ended, Output, Skipped, as_json
from reactor.journal import diffs, records, retention, store
from reactor.journal.history import Filter, History
from reactor.journal.schema import FILE_NAME
from reactor.journal.store import open_store
from reactor.journal.write_buffer import Batch
from reactor.resources.exec import Exec
from reactor.resources.file import File


def file(content="x", **more):
    return File(name="/a", ensure="present", content=content, owner="root", group="root", mode="0644", **more)


def begin_generation(journal, resources):
    journal.prepare_generation({each.ref: each for each in resources})()


def entries(directory, **wanted):
    with history_of(directory) as history:
        return list(history.entries(Filter(**wanted)))


def test_a_plain_ok_is_not_kept(directory):
    with journal_in(directory) as journal:
        journal.record(ok())
    assert entries(directory) == []


@pytest.mark.parametrize("trouble", [failed("file#/a"), blocked("file#/a", "exec#x")])
def test_the_ok_that_ends_a_problem_is_kept_once(directory, trouble):
    with journal_in(directory) as journal:
        journal.record(trouble)
        journal.record(ok())
        journal.record(ok())
    assert [entry.result for entry in entries(directory)] == [trouble_result(trouble), "ok"]


def trouble_result(event):
    return getattr(event, "result", "blocked")


def test_a_problem_ends_in_a_later_run(directory):
    with journal_in(directory) as journal:
        journal.record(failed())
    with journal_in(directory) as journal:
        journal.record(ok())
    with journal_in(directory) as journal:
        journal.record(ok())
    assert [entry.result for entry in entries(directory)] == ["failed", "ok"]


def test_an_event_is_kept_in_its_json_form_and_its_diffs_apart(directory):
    event = changed(diffs=("--- a\n+++ b\n+password\n",))
    with journal_in(directory) as journal:
        journal.record(event)
    (entry,) = entries(directory)
    assert entry.record == json.loads(json.dumps(as_json(event) | {"diffs": []}))
    with closing(History(str(directory))) as history:
        assert history.diffs(entry) == list(event.diffs)


def test_the_causes_of_an_event_are_those_that_it_has():
    event = changed(causes=Cause.DRIFT | Cause.REFRESH)
    assert as_json(event)["causes"] == ("drift", "refresh")
    assert Cause(0).words == ()


def test_a_reader_that_waits_for_nobody_reads_what_is_not_in_the_file_itself_yet(directory):
    with journal_in(directory) as journal:
        journal.record(changed())
    with closing(sqlite3.connect(directory / FILE_NAME)) as other:  # keeps what it writes beside the file
        other.execute("DELETE FROM events")
        other.commit()
        with closing(History(str(directory), at_once=True)) as history:
            assert list(history.entries(Filter())) == []
    with closing(History(str(directory), at_once=True)) as history:
        assert list(history.entries(Filter())) == []
    assert sorted(path.name for path in directory.glob(f"{FILE_NAME}*")) == [FILE_NAME]


def test_what_commands_say_and_what_follows_every_change_is_not_kept(directory):
    now = time.time()
    with journal_in(directory) as journal:
        journal.record(Output(now, "exec#x", "secret"))
        journal.record(Converged(now, 1, 0.1))
        journal.record(Skipped(now, "exec#x", "stopped"))
        journal.record(Ended(now, {}, 0, 0.1, "stopped", left=0))
    assert [entry.event for entry in entries(directory)] == ["ended"]


def test_long_texts_and_lists_are_cut_and_say_so(directory):
    with journal_in(directory) as journal:
        journal.record(changed(actions=tuple(f"removed {n}" for n in range(1000))))
        journal.record(failed(error="e" * 100_000))
    many, long = entries(directory)
    assert many.record["actions"][-1] == f"… and {1000 - records.LIST_LIMIT} more"
    assert len(long.record["error"]) < records.TEXT_LIMIT + 50


def test_a_resource_is_found_however_long_its_name_is(directory):
    script = Exec(name="true; " * records.TEXT_LIMIT, provider="shell")
    with journal_in(directory) as journal:
        begin_generation(journal, [script])
        journal.record(failed(script.ref))
        journal.record(blocked("file#/a", script.ref))
    with history_of(directory) as history:
        assert history.present() == [script.ref]
        assert history.last("file#/a").record["culprits"] == [script.ref]
        assert history.last(script.ref).record["ref"] == script.ref


def test_the_oldest_rows_beyond_the_limit_go(directory, monkeypatch):
    monkeypatch.setattr(retention, "ROW_LIMIT", 1000)
    monkeypatch.setattr(retention, "_PRUNED_AT_ONCE", 100)
    for first in range(0, 5000, 1000):
        with journal_in(directory) as journal:
            for number in range(first, first + 1000):
                journal.record(changed(f"file#/{number}"))
    kept = kept_refs(directory)
    assert len(kept) <= 1000 + retention.PRUNE_EVERY
    assert kept[-1] == "file#/4999"


def test_a_file_that_grows_too_large_is_cut_and_gives_its_space_back(directory, monkeypatch):
    monkeypatch.setattr(retention, "BYTE_LIMIT", 1 << 20)
    for _ in range(6):
        with journal_in(directory) as journal:
            for number in range(1000):
                journal.record(changed(f"file#/{number}", actions=("x" * 1500,)))
    assert (directory / "journal.sqlite").stat().st_size < 10 << 20


def test_what_is_older_than_the_limit_goes_and_pending_refreshes_stay(directory, monkeypatch):
    monkeypatch.setattr(clock, "SETTLING", 0)
    old = time.time() - retention.AGE_LIMIT - 1
    with journal_in(directory) as journal:
        journal.record(changed("file#/old", moment=old))
        trio.run(journal.intend, "file#/old", ["exec#x"])
    with journal_in(directory) as journal:
        journal.record(changed("file#/new"))
        assert list(journal.pending_refreshes()) == ["exec#x"]
    assert kept_refs(directory) == ["file#/new"]


def test_a_clock_far_ahead_on_a_host_that_has_just_started_costs_no_history(directory, monkeypatch):
    with journal_in(directory) as journal:
        journal.record(changed("file#/old"))
    monkeypatch.setattr(clock, "SETTLING", math.inf)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    with journal_in(directory) as journal:
        journal.record(changed("file#/new"))
    assert kept_refs(directory) == ["file#/old", "file#/new"]


@pytest.mark.parametrize(
    ("set_by", "settling", "left"),
    [
        (80 * 365 * 86400, 60, ["file#/old", "file#/new"]),
        (80 * 365 * 86400, 0, ["file#/new"]),
        (clock.STEP / 2, 60, ["file#/new"]),
    ],
)
def test_a_clock_that_is_set_under_a_run_costs_no_history_before_it_has_settled(
    directory, monkeypatch, set_by, settling, left
):
    monkeypatch.setattr(clock, "SETTLING", settling)
    monkeypatch.setattr(retention, "is_settled", clock.Clock().is_settled)
    right = time.time
    with journal_in(directory) as journal:
        journal.record(changed("file#/old", moment=right() - retention.AGE_LIMIT))
        monkeypatch.setattr(time, "time", lambda: right() + set_by)
        journal.record(changed("file#/new"))
    assert kept_refs(directory) == left


def test_filters_choose_by_time_ref_and_failure(directory):
    with journal_in(directory) as journal:
        journal.record(changed("file#/etc/a", moment=1000.0 + time.time()))
        journal.record(failed("file#/etc/b"))
        journal.record(failed("file#/srv/[odd]"))
        journal.record(blocked("exec#x", "file#/etc/b"))
    refs = {name: [e.ref for e in entries(directory, **wanted)] for name, wanted in FILTERS.items()}
    assert refs == {
        "glob": ["file#/etc/a", "file#/etc/b"],
        "exact": ["file#/srv/[odd]"],
        "failed": ["file#/etc/b", "file#/srv/[odd]", "exec#x"],
        "both": ["file#/etc/b"],
    }
    assert [e.ref for e in entries(directory, since=500.0 + time.time())] == ["file#/etc/a"]


FILTERS = {
    "glob": {"ref": "file#/etc/*"},
    "exact": {"ref": "file#/srv/[odd]"},
    "failed": {"failed": True},
    "both": {"ref": "file#/etc/*", "failed": True},
}


def test_the_latest_are_the_last_of_all_of_a_resource_or_of_a_time(directory):
    refs = ["file#/a", "file#/[b]", "file#/a", "file#/b"]
    times = [time.time() + number for number in range(len(refs))]
    with journal_in(directory) as journal:
        for moment, ref in zip(times, refs, strict=True):
            journal.record(changed(ref, moment=moment))
    with history_of(directory) as history:
        assert [entry.time for entry in history.latest(2)] == times[2:]
        assert [entry.time for entry in history.latest(5, ref="file#/[b]")] == [times[1]]
        assert [entry.time for entry in history.latest(2, before=times[2])] == times[:2]
        assert [entry.time for entry in history.latest(100)] == times


async def test_a_user_who_asks_to_catch_up_reads_all_that_was_recorded(directory):
    with journal_in(directory) as journal:
        journal.record(changed("file#/a"))
        assert kept_refs(directory) == []
        await journal.catch_up()
        assert kept_refs(directory) == ["file#/a"]


def test_a_first_change_is_initial_intent_or_drift(directory):
    with journal_in(directory) as journal:
        assert journal.cause_of(file("x")) is Cause.INITIAL
        journal.applied(file("x"))
    with journal_in(directory) as journal:
        assert journal.cause_of(file("x")) is Cause.DRIFT
        assert journal.cause_of(file("y")) is Cause.INTENT


def test_an_edit_of_order_is_no_intent_for_the_world(directory):
    with journal_in(directory) as journal:
        journal.applied(file())
        assert journal.cause_of(file(require="exec#x", meta={"retry": 3})) is Cause.DRIFT


def test_what_was_applied_is_written_when_it_changes_only(directory):
    written = []
    for content in ("x", "x", "y", "z"):
        with journal_in(directory) as journal:
            for _ in range(1000):
                journal.applied(file(content))
        with history_of(directory) as history:
            written.append(history.applied_since("file#/a"))
    assert written[0] == written[1] < written[2]


@pytest.mark.parametrize("at_once", [1, 2, 5, 6])
def test_the_digests_of_more_resources_than_are_asked_for_at_once_are_all_found(
    directory, monkeypatch, at_once
):
    monkeypatch.setattr(store, "_ASKED_AT_ONCE", at_once)
    files = [File(name=f"/{number}", ensure="absent") for number in range(5)]
    with journal_in(directory) as journal:
        for each in files:
            journal.applied(each)
    opened, _, _ = open_store(str(directory))
    with closing(opened):
        assert list(opened.digests([*(each.ref for each in files), "file#/never"])) == [
            each.ref for each in files
        ]


def test_the_same_manifest_is_the_same_generation(directory):
    for content in ("x", "x", "y", "z"):
        with journal_in(directory) as journal:
            begin_generation(journal, [file(content), Exec(name="e", ensure="present", command="true")])
            journal.record(changed())
    assert [entry.generation for entry in entries(directory)] == [1, 1, 2, 3]


async def test_a_reader_that_pauses_does_not_keep_the_log_from_being_emptied(directory, nursery):
    """The WAL is written from its start again when no reader is in the middle of it."""
    with journal_in(directory) as journal:
        nursery.start_soon(journal.run)
        for name in "abc":
            journal.record(changed(f"file#/{name}"))
        await wait_for(lambda: len(kept_refs(directory)) == 3)
        with history_of(directory) as history:
            paused = history.entries()
            assert next(paused).ref == "file#/a"
            for round_ in range(12):
                for number in range(500):
                    journal.record(changed(f"file#/{round_}/{number}", actions=("x" * 1900,)))
                await wait_for(lambda last=f"file#/{round_}/499": history.last(last))
            assert (directory / "journal.sqlite-wal").stat().st_size < 6 << 20
            assert len(list(paused)) == 6002
        nursery.cancel_scope.cancel()


def test_what_no_manifest_has_had_for_long_is_forgotten_and_what_this_one_has_is_not(directory, monkeypatch):
    monkeypatch.setattr(retention, "DIGEST_LIMIT", 20)
    monkeypatch.setattr(clock, "SETTLING", 0)
    files = [File(name=f"/{number}", ensure="absent") for number in range(100)]
    with journal_in(directory) as journal:
        begin_generation(journal, files)
        for file in files:
            journal.applied(file)
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        old = time.time() - retention.AGE_LIMIT - 1
        connection.execute("UPDATE resources SET applied = ? WHERE ref < 'file#/5'", (old,))
        connection.commit()
    with journal_in(directory) as journal:
        begin_generation(journal, files[:10])
        journal.record(changed())
    with history_of(directory) as history:
        refs = set(history.refs()) - {"file#/a"}
    assert {f"file#/{number}" for number in range(10)} <= refs
    assert len(refs) == 30
    assert not {ref for ref in refs if ref[6:] < "5"} - {f"file#/{number}" for number in range(10)}


def test_a_source_that_was_edited_is_intent_and_what_drifts_after_that_is_drift(directory, tmp_path):
    source = tmp_path / "source"
    source.write_text("one")
    ids = {"owner": "root", "group": "root", "mode": "0644"}
    resource = File(name="/a", ensure="present", source=str(source), **ids)
    with journal_in(directory) as journal:
        journal.applied(resource)
        assert journal.cause_of(resource) is Cause.DRIFT
        source.write_text("another")
        assert journal.cause_of(resource) is Cause.INTENT
        journal.applied(resource)
        assert journal.cause_of(resource) is Cause.DRIFT
        source.write_text("and yet another")
    with journal_in(directory) as journal:
        assert journal.cause_of(resource) is Cause.INTENT, "also when it was edited while nobody looked"


def test_the_events_of_a_resource_are_found_by_its_alias(directory):
    with journal_in(directory) as journal:
        begin_generation(journal, [file(alias="conf"), Exec(name="x")])
        journal.record(changed())
        journal.record(changed("exec#x"))
    for wanted in ("file#conf", "file#c*", "file#/a"):
        assert [entry.ref for entry in entries(directory, ref=wanted)] == ["file#/a"]


def test_the_aliases_are_those_of_the_newest_manifest(directory):
    with journal_in(directory) as journal:
        begin_generation(journal, [file(alias="old")])
    with journal_in(directory) as journal:
        begin_generation(journal, [file(alias="new")])
    with history_of(directory) as history:
        assert history.aliases() == {"file#new": "file#/a"}
    with journal_in(directory) as journal:
        begin_generation(journal, [file()])
    with history_of(directory) as history:
        assert history.aliases() == {}


def test_a_journal_of_before_there_were_aliases_is_read_and_gone_on_with(directory):
    with journal_in(directory) as journal:
        journal.record(changed())
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("DROP TABLE aliases")
    with history_of(directory) as history:
        assert history.aliases() == {}
        assert kept_refs(directory) == ["file#/a"]
    with journal_in(directory) as journal:
        begin_generation(journal, [file(alias="conf")])
    assert [entry.ref for entry in entries(directory, ref="file#conf")] == ["file#/a"]


def test_a_user_who_left_the_manifest_is_known_and_not_present(directory):
    with journal_in(directory) as journal:
        begin_generation(journal, [file(), Exec(name="x")])
        journal.record(changed())
        journal.record(failed("exec#x"))
        assert_present(directory, [], "nothing is on the disk yet")
    assert_present(directory, ["exec#x", "file#/a"])
    with journal_in(directory) as journal:
        begin_generation(journal, [file()])
    assert_present(directory, ["file#/a"], left="exec#x")
    with journal_in(directory) as journal:
        begin_generation(journal, [])
    assert_present(directory, [], left="file#/a")


def assert_present(directory, refs, why=None, left=None):
    with history_of(directory) as history:
        assert history.present() == refs, why
        assert left is None or (left in history.refs() and history.has_left(left))


def test_in_a_journal_of_before_members_were_kept_all_are_until_the_next_run(directory):
    resource = file()
    with journal_in(directory) as journal:
        begin_generation(journal, [resource])
        journal.record(changed())
        journal.record(failed("exec#x"))
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("DROP TABLE members")
    assert_present(directory, ["exec#x", "file#/a"])
    with journal_in(directory) as journal:
        begin_generation(journal, [resource])
    assert_present(directory, ["file#/a"], left="exec#x")


async def test_a_journal_that_is_begun_again_knows_who_is_in_the_manifest(directory):
    with journal_in(directory) as journal:
        begin_generation(journal, [file()])
        await journal.catch_up()
        (directory / FILE_NAME).unlink()
        await journal.renew()
        journal.record(changed())
        journal.record(failed("exec#x"))
    assert_present(directory, ["file#/a"], left="exec#x")


def test_a_user_who_has_read_leaves_no_files_beside_the_journal(directory):
    with journal_in(directory) as journal:
        journal.record(changed())
    assert len(entries(directory)) == 1
    assert {path.name for path in directory.iterdir()} == {FILE_NAME}


def test_a_follower_that_outlives_the_run_leaves_no_files_beside_the_journal(directory):
    with journal_in(directory) as journal:
        journal.record(changed())
        follower = History(str(directory))
    with closing(follower):
        assert len(list(follower.entries(Filter()))) == 1
    assert {path.name for path in directory.iterdir()} == {FILE_NAME}


def test_a_text_or_a_list_that_just_fits_is_kept_whole(directory):
    fits = ("e" * records.TEXT_LIMIT, tuple(map(str, range(records.LIST_LIMIT))))
    with journal_in(directory) as journal:
        journal.record(failed(error=fits[0]))
        journal.record(changed(actions=fits[1]))
        journal.record(failed(error=fits[0] + "ab"))
        journal.record(changed(actions=(*fits[1][1:], fits[0] + "abc", "more", "most")))
    text, listed, longer, more = (entry.record for entry in entries(directory))
    assert text["error"] == fits[0]
    assert tuple(listed["actions"]) == fits[1]
    assert longer["error"] == f"{fits[0]} … (2 characters more)"
    assert more["actions"][-2:] == [f"{fits[0]} … (3 characters more)", "… and 2 more"]


def test_what_is_within_the_limits_is_never_deleted(directory):
    with journal_in(directory) as journal:
        for name in "abc":
            journal.record(changed(f"file#/{name}", diffs=(f"+{name}\n" * 100,)))
        trio.run(journal.intend, "file#/a", ["exec#x"])
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as connection:
        connection.create_function("in_force", 1, lambda _: False)
        retention.prune(connection, 0, diffs.DiffTable(connection))
    assert kept_refs(directory) == ["file#/a", "file#/b", "file#/c"]
    with history_of(directory) as history:
        assert history.pending_refreshes() == {"exec#x"}
        assert [history.diffs(entry) for entry in history.entries()] == [
            [f"+{name}\n" * 100] for name in "abc"
        ]


def test_the_limits_are_looked_at_once_in_a_thousand_rows_or_many_diffs_and_not_while_a_change_waits(
    directory, monkeypatch
):
    pruned, prune = [], retention.prune
    monkeypatch.setattr(retention, "prune", lambda *given: pruned.append(prune(*given)))
    monkeypatch.setattr(diffs, "PRUNE_EVERY", 500)

    def prunes_after(rows, *, durable=False, **more):
        before = len(pruned)
        store.write(Batch(events=deque([(changed(**more), 1)] * rows)), durable=durable)
        return len(pruned) > before

    store, _, _ = open_store(str(directory))
    with closing(store):
        assert prunes_after(1), "at the start of a run"
        assert not prunes_after(retention.PRUNE_EVERY - 1)
        assert not prunes_after(1, durable=True)
        assert prunes_after(1)
        assert prunes_after(1, diffs=("x",)), "with the first diffs of a run"
        assert not prunes_after(1, diffs=("x" * 480,))
        assert prunes_after(1, diffs=("x" * 100,))
        assert not prunes_after(1)


def test_what_was_dropped_while_the_disk_was_slow_is_counted_in_the_history(directory, monkeypatch):
    monkeypatch.setattr("reactor.journal.write_buffer.EVENT_LIMIT", 2)
    with journal_in(directory) as journal:
        for name in "abcd":
            journal.record(changed(f"file#/{name}"))
    *kept, lost = entries(directory)
    assert [entry.ref for entry in kept] == ["file#/c", "file#/d"]
    assert (lost.event, lost.record["count"]) == ("recordslost", 2)


def test_a_look_at_the_limits_costs_what_goes_and_not_what_is_kept(directory):
    def steps_of_a_look():
        """Instructions of SQLite's virtual machine."""
        store.write(shown(retention.PRUNE_EVERY), durable=False)
        counted = []
        store._connection.set_progress_handler(lambda: counted.append(1) and None, 1)
        retention.prune(store._connection, 0, store._diffs)
        store._connection.set_progress_handler(None, 1)
        return len(counted)

    def shown(count):
        return Batch(events=deque([(changed(diffs=("x",)), 1)] * count))

    store, _, _ = open_store(str(directory))
    with closing(store):
        few = steps_of_a_look()
        for _ in range(10):
            store.write(shown(900), durable=False)
        assert steps_of_a_look() < few + 100
    store, _, _ = open_store(str(directory))
    with closing(store):
        assert steps_of_a_look() < few + 200, "nor does the first look of the next run"


def test_the_size_of_diffs_is_counted_again_where_an_earlier_version_has_written_some(directory, monkeypatch):
    def write_a_diff():
        store, _, _ = open_store(str(directory))
        with closing(store):
            store.write(Batch(events=deque([(changed(diffs=("x" * 900,)), 1)])), durable=False)
            return store._connection.execute("SELECT count(*) FROM diffs").fetchone()[0]

    monkeypatch.setattr(diffs, "BYTE_LIMIT", 5000)
    write_a_diff()
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as connection:
        connection.executemany(
            "INSERT INTO events VALUES (?, 0, 'checked', 'a', 'ok', 1, '{}')", [(2,), (3,)]
        )
        connection.executemany("INSERT INTO diffs VALUES (?, 2000, '[]')", [(2,), (3,)])
    assert write_a_diff() == 3, "of 900, 2000, 2000 and 900, the first has gone"


def test_diffs_of_a_write_that_was_undone_do_not_count(directory, monkeypatch):
    def fill_the_disk(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(retention, "PRUNE_EVERY", 1)
    monkeypatch.setattr(diffs, "BYTE_LIMIT", 5000)
    batch = Batch(events=deque([(changed(diffs=("x" * 900,)), 1)]))
    store, _, _ = open_store(str(directory))
    with closing(store):
        store.write(batch, durable=False)
        with monkeypatch.context() as disk:
            disk.setattr(retention, "prune", fill_the_disk)
            for _ in range(10):
                with pytest.raises(sqlite3.OperationalError):
                    store.write(batch, durable=False)
        for _ in range(3):
            store.write(batch, durable=False)
        assert store._connection.execute("SELECT count(*) FROM diffs").fetchone() == (4,)


def test_a_follower_gets_each_event_once_while_the_file_stays(directory, monkeypatch):
    def record(_):
        """While the follower waits, one more event comes."""
        journal.record(changed(f"file#/{next(names)}"))
        trio.run(journal.catch_up)

    names = iter("abcd")
    with journal_in(directory) as journal, history_of(directory) as history:
        record(None)
        monkeypatch.setattr("reactor.journal.history.time.sleep", record)
        events = history.follow(after=0)
        assert [next(events).ref for _ in range(4)] == ["file#/a", "file#/b", "file#/c", "file#/d"]


class HeapUse(ctypes.Structure):
    """struct mallinfo2 of malloc.h."""

    _fields_ = (("before", ctypes.c_size_t * 4), ("mapped", ctypes.c_size_t), ("between", ctypes.c_size_t * 2),
                ("in_use", ctypes.c_size_t), ("after", ctypes.c_size_t * 2))  # fmt: skip


def heap_in_use():
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = HeapUse
    found = mallinfo()
    return found.in_use + found.mapped


def test_what_was_written_does_not_stay_in_memory(directory):
    opened, _, _ = open_store(str(directory))
    with closing(opened):
        before = heap_in_use()
        for count in range(500, 510):
            events = [changed(f"file#/{number}", diffs=("+" + "x" * 1000,)) for number in range(count)]
            opened.write(Batch(events=deque((event, 1) for event in events)), durable=False)
        del events
        assert heap_in_use() - before < 2 << 20
