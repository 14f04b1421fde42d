"""The cursor of events that another program gets: each at least once, and what was deleted before is counted."""

import os
import sqlite3
from contextlib import closing

import pytest
from journal_worlds import changed, journal_in

from reactor.journal import retention
from reactor.journal.schema import FILE_NAME
from reactor.journal.sent_events import _OVERHEAD, HISTORY, Backlog, SentEvents, counting_losses


def record(directory, *names):
    with journal_in(directory) as journal:
        for name in names:
            journal.record(changed(f"file#/{name}"))


def refs(batch):
    return [each.get("ref", each["event"]) for each in batch.records]


@pytest.fixture
def sent(directory):
    record(directory, "a", "b", "c")
    return SentEvents(str(directory), "fleet")


def test_batches_follow_each_other_and_an_acknowledged_event_is_not_sent_again(directory, sent):
    first = sent.next_batch(2, 1 << 16)
    assert (refs(first), first.first, first.last, first.size) == (["file#/a", "file#/b"], 1, 2, 2)
    assert sent.backlog() == Backlog(3, 3, 0)
    sent.acknowledge(first)
    second = SentEvents(str(directory), "fleet").next_batch(2, 1 << 16)
    assert (refs(second), second.secret) == (["file#/c"], first.secret)
    sent.acknowledge(second)
    assert sent.next_batch(2, 1 << 16) is None
    assert sent.backlog() == Backlog(3, 0, 0)


def test_a_batch_is_repeated_with_the_same_ids_although_there_are_more_events(directory, sent):
    first = sent.next_batch(200, 1 << 16)
    record(directory, "d")
    again = SentEvents(str(directory), "fleet").next_batch(200, 1 << 16)
    assert (again.secret, again.first, again.last, refs(again)) == (first.secret, 1, 3, refs(first))
    sent.acknowledge(again)
    assert refs(sent.next_batch(200, 1 << 16)) == ["file#/d"]


def test_another_process_gets_ids_of_its_own_when_no_batch_is_on_the_way(directory, sent):
    first = sent.next_batch(2, 1 << 16)
    again = SentEvents(str(directory), "fleet")
    assert not again.renew()
    assert again.next_batch(2, 1 << 16) == first
    again.acknowledge(first)
    assert again.renew()
    assert again.next_batch(2, 1 << 16).secret != first.secret


def test_a_batch_has_at_most_its_bytes_but_one_event(directory, sent):
    whole = sent.next_batch(200, 1)
    assert refs(whole) == ["file#/a"]


def test_what_is_deleted_unsent_is_told_once_and_what_arrived_is_not_lost(directory, sent, monkeypatch):
    monkeypatch.setattr(retention, "ROW_LIMIT", 10)
    monkeypatch.setattr(retention, "_PRUNED_AT_ONCE", 1)
    in_flight = sent.next_batch(2, 1 << 16)
    record(directory, *(f"n{number}" for number in range(retention.PRUNE_EVERY)))
    kept = sent.backlog().unsent
    assert sent.backlog().lost == retention.PRUNE_EVERY + 3 - kept
    sent.acknowledge(in_flight)
    lost = sent.backlog().lost
    assert lost == retention.PRUNE_EVERY + 1 - kept
    batch = sent.next_batch(5, 1 << 16)
    assert batch.records[0]["event"] == "recordslost"
    assert batch.records[0]["count"] == lost
    assert [each["id"] for each in batch.records[1:]] == list(range(batch.first, batch.last + 1))
    sent.acknowledge(batch)
    following = sent.next_batch(5, 1 << 16)
    assert following.records[0]["event"] == "checked"
    assert sent.backlog().lost == lost


def test_a_journal_that_sends_nothing_counts_nothing(directory, monkeypatch):
    monkeypatch.setattr(retention, "ROW_LIMIT", 10)
    record(directory, *(f"n{number}" for number in range(retention.PRUNE_EVERY)))
    assert SentEvents(str(directory), "fleet").backlog().lost == 0


def test_of_the_history_before_the_first_use_the_newest_are_sent(directory):
    record(directory, *(f"n{number}" for number in range(HISTORY + 5)))
    assert SentEvents(str(directory), "fleet").next_batch(1, 1 << 16).first == 6


def test_a_new_journal_has_another_nonce_and_begins_anew(directory, sent):
    first = sent.next_batch(200, 1 << 16)
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(directory / f"{FILE_NAME}{suffix}"):
            os.unlink(directory / f"{FILE_NAME}{suffix}")
    record(directory, "new")
    batch = sent.next_batch(200, 1 << 16)
    assert refs(batch) == ["file#/new"]
    assert batch.secret != first.secret
    sent.acknowledge(first)
    assert sent.backlog().unsent == 1


def test_a_batch_is_as_large_as_its_bytes_allow(directory, sent):
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        records = connection.execute("SELECT record FROM events ORDER BY id").fetchall()
    sizes = [len(text.encode()) + _OVERHEAD for (text,) in records]
    two = sum(sizes[:2])
    for most, count in ((two - 1, 1), (two, 2), (sum(sizes) - 1, 2), (sum(sizes), 3)):
        assert len(SentEvents(str(directory), f"up to {most}").next_batch(200, most).records) == count


def test_losses_that_come_one_after_the_other_are_told_once_each(directory, sent):
    lost = []
    sent.backlog()
    for names, surviving in (("defgh", 7), ("ijk", 10)):
        record(directory, *names)
        with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
            with counting_losses(connection):
                connection.execute("DELETE FROM events WHERE id < ?", (surviving,))
            connection.commit()
        batch = sent.next_batch(1, 1 << 16)
        lost.append(batch.records[0]["count"])
        assert batch.first == surviving
        sent.acknowledge(batch)
    assert lost == [6, 2]


def test_only_what_was_deleted_of_a_batch_that_arrived_is_not_lost(directory, sent):
    record(directory, "d", "e", "f", "g")
    batch = sent.next_batch(4, 1 << 16)
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        with counting_losses(connection):
            connection.execute("DELETE FROM events WHERE id IN (1, 2, 3, 5, 6)")
        connection.commit()
    sent.acknowledge(batch)
    assert sent.backlog() == Backlog(newest=7, unsent=1, lost=2)


@pytest.fixture
def sent_to_b(directory, sent):
    sent.acknowledge(sent.next_batch(1, 1 << 16))
    return sent


def test_an_event_that_was_acknowledged_is_not_lost_when_it_is_deleted(directory, sent_to_b):
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        with counting_losses(connection):
            connection.execute("DELETE FROM events WHERE id = 1")
        connection.commit()
    assert sent_to_b.backlog() == Backlog(3, 2, 0)


def test_each_event_is_sent_with_its_number_and_its_generation(directory, sent):
    with journal_in(directory) as journal:
        journal.prepare_generation({})()
        journal.record(changed("file#/d"))
    records = sent.next_batch(200, 1 << 16).records
    assert [(each["id"], each["generation"]) for each in records] == [(1, None), (2, None), (3, None), (4, 1)]
