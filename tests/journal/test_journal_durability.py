"""An intent is on the disk before the change begins, also when the process is killed right then."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
import trio
import trio.testing
from journal_worlds import MANIFEST, changed, journal_in, kept_refs, owed_on_disk, told_by, wait_for

from reactor.journal.history import EVERYTHING, History
from reactor.journal.schema import FILE_NAME
from reactor.journal.writer import INTERVAL, PLENTY

INTEND_THEN_DIE = f"""
import os, signal, sys, trio
from reactor.journal.journal import Journal

async def main():
    async with trio.open_nursery() as nursery:
        journal = Journal.open(sys.argv[1], {MANIFEST!r}, print)
        nursery.start_soon(journal.run)
        await journal.intend("file#/a", ["exec#x", "exec#y"])
        os.kill(os.getpid(), signal.SIGKILL)

trio.run(main)
"""


def run_child(code, *args):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


class Commits:
    """Counts the durable and the other transactions of a journal."""

    def __init__(self, journal, monkeypatch):
        self.durable = self.others = 0
        write = journal._writer.store.write

        def counted(batch, *, durable):
            self.durable += durable
            self.others += not durable
            write(batch, durable=durable)

        monkeypatch.setattr(journal._writer.store, "write", counted)


def test_an_intent_survives_a_kill(directory):
    assert run_child(INTEND_THEN_DIE, directory).returncode == -signal.SIGKILL
    with journal_in(directory) as journal:
        assert sorted(journal.pending_refreshes()) == ["exec#x", "exec#y"]


def test_an_intent_is_committed_with_a_sync(directory):
    journal = told_by(directory)
    statements = []
    journal._writer.store._connection.set_trace_callback(statements.append)
    trio.run(journal.intend, "file#/a", ["exec#x"])
    assert statements.index("PRAGMA synchronous = FULL") < statements.index("COMMIT")
    journal.close()


def test_a_run_that_ends_leaves_its_words_in_the_wal_to_the_next(directory):
    """To bring them into the file waits for the disk, several times."""
    file = directory / FILE_NAME
    with journal_in(directory):
        pass
    before = file.read_bytes()
    for number in range(3):
        with journal_in(directory) as journal:
            journal.record(changed(f"file#/{number}"))
    assert file.read_bytes() == before
    assert kept_refs(directory) == ["file#/0", "file#/1", "file#/2"]


async def test_an_intent_is_on_the_disk_when_it_returns(directory):
    with journal_in(directory) as journal:
        await journal.intend("file#/a", ["exec#x"])
        assert owed_on_disk(directory) == {("file#/a", "exec#x")}


async def test_a_change_that_no_one_subscribes_to_writes_nothing(directory, monkeypatch):
    with journal_in(directory) as journal:
        commits = Commits(journal, monkeypatch)
        await journal.intend("file#/a", [])
        assert (commits.durable, commits.others) == (0, 0)


async def test_intents_that_wait_together_share_a_commit(directory, monkeypatch):
    with journal_in(directory) as journal:
        commits = Commits(journal, monkeypatch)
        async with trio.open_nursery() as nursery:
            for number in range(64):
                nursery.start_soon(journal.intend, f"file#/{number}", ["exec#x"])
        assert len(owed_on_disk(directory)) == 64
        assert commits.durable <= 2


async def test_what_is_pending_already_costs_no_commit(directory, monkeypatch):
    with journal_in(directory) as journal:
        await journal.intend("file#/a", ["exec#x"])
        commits = Commits(journal, monkeypatch)
        for _ in range(100):
            await journal.intend("file#/a", ["exec#x"])
        assert (commits.durable, commits.others) == (0, 0)
        assert owed_on_disk(directory) == {("file#/a", "exec#x")}


async def test_an_intent_whose_row_went_with_a_lazy_batch_is_still_synced(directory, monkeypatch, nursery):
    """The background writer may take the row first; then its commit has to be the durable one."""
    with journal_in(directory) as journal:
        commits = Commits(journal, monkeypatch)
        journal.record(changed())
        async with journal._writer._writing:
            nursery.start_soon(journal.catch_up)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(journal.intend, "file#/a", ["exec#x"])
            await trio.testing.wait_all_tasks_blocked()
        await wait_for(lambda: owed_on_disk(directory))
        assert (commits.durable, commits.others) == (1, 0)


async def test_a_cancelled_intent_stays_pending(directory):
    with journal_in(directory) as journal:
        with trio.CancelScope() as scope:
            scope.cancel()
            await journal.intend("file#/a", ["exec#x"])
        assert list(journal.pending_refreshes()) == ["exec#x"]
    assert owed_on_disk(directory) == {("file#/a", "exec#x")}


async def test_a_completed_refresh_is_gone_and_one_intended_meanwhile_is_not(directory):
    with journal_in(directory) as journal:
        await journal.intend("file#/a", ["exec#x"])
        await journal.intend("file#/b", ["exec#x"])
        journal.begins("exec#x")
        await journal.intend("file#/b", ["exec#x"])
        journal.refreshed("exec#x")
    assert owed_on_disk(directory) == {("file#/b", "exec#x")}


async def test_an_intent_after_a_refresh_whose_end_is_not_written_yet_is_on_the_disk(directory):
    with journal_in(directory) as journal:
        await journal.intend("file#/a", ["exec#x"])
        journal.begins("exec#x")
        journal.refreshed("exec#x")
        await journal.intend("file#/a", ["exec#x"])
        assert owed_on_disk(directory) == {("file#/a", "exec#x")}
    assert owed_on_disk(directory) == {("file#/a", "exec#x")}


async def test_events_are_written_in_batches_while_the_run_goes_on(directory, monkeypatch, nursery):
    with journal_in(directory) as journal:
        commits = Commits(journal, monkeypatch)
        nursery.start_soon(journal.run)
        for number in range(300):
            journal.record(changed(f"file#/{number}"))
        await wait_for(lambda: len(kept_refs(directory)) == 300)
        assert commits.others <= 3
        assert commits.durable == 0
        nursery.cancel_scope.cancel()


async def test_few_events_wait_for_more_and_plenty_are_written_at_once(directory, mock_clock, nursery):
    with journal_in(directory) as journal:

        async def attempt_at_once(batch, durable):
            return journal._writer._attempt(batch, durable=durable)

        journal._writer._attempt_in_thread = (
            attempt_at_once  # a clock that stands still does not wait for threads
        )
        nursery.start_soon(journal.run)
        await trio.testing.wait_all_tasks_blocked()
        journal.record(changed("file#/a"))
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(INTERVAL * 0.9)
        await trio.testing.wait_all_tasks_blocked()
        assert kept_refs(directory) == []
        mock_clock.jump(INTERVAL * 0.2)
        await trio.testing.wait_all_tasks_blocked()
        assert kept_refs(directory) == ["file#/a"]
        for number in range(PLENTY):
            journal.record(changed(f"file#/{number}"))
        await trio.testing.wait_all_tasks_blocked()
        assert len(kept_refs(directory)) == PLENTY + 1
        nursery.cancel_scope.cancel()


async def test_more_events_than_one_batch_takes_are_all_written_without_further_ones(directory, nursery):
    with journal_in(directory) as journal:
        nursery.start_soon(journal.run)
        for number in range(3 * PLENTY):
            journal.record(changed(f"file#/{number}"))
        await wait_for(lambda: len(kept_refs(directory)) == 3 * PLENTY)
        nursery.cancel_scope.cancel()


def test_closing_writes_what_waits(directory):
    with journal_in(directory) as journal:
        journal.record(changed("file#/late"))
    assert kept_refs(directory) == ["file#/late"]


async def test_a_cancelled_writer_loses_nothing(directory):
    with journal_in(directory) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.run)
            for number in range(1200):
                journal.record(changed(f"file#/{number}"))
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert len(kept_refs(directory)) == 1200


@pytest.mark.parametrize("copied", [False, True])
async def test_a_reader_sees_all_while_a_run_writes(directory, tmp_path, nursery, copied):
    with journal_in(directory) as journal:
        nursery.start_soon(journal.run)
        journal.record(changed("file#/seen"))
        await wait_for(lambda: kept_refs(directory) == ["file#/seen"])
        if copied:
            (tmp_path / "copy").mkdir()
            for name in os.listdir(directory):
                (tmp_path / "copy" / name).write_bytes((directory / name).read_bytes())
            assert kept_refs(tmp_path / "copy") == ["file#/seen"]
        journal.record(changed("file#/next"))
        await wait_for(lambda: kept_refs(directory) == ["file#/seen", "file#/next"])
        nursery.cancel_scope.cancel()


def test_followers_see_what_comes_and_a_journal_that_replaces_it(directory):
    with journal_in(directory) as journal:
        journal.record(changed("file#/old"))
    history = History(str(directory))
    coming = history.follow(EVERYTHING, after=0)
    assert next(coming).ref == "file#/old"
    with journal_in(directory) as journal:
        journal.record(changed("file#/new"))
    assert next(coming).ref == "file#/new"
    for name in os.listdir(directory):
        os.rename(directory / name, directory / f"aside-{name}")
    with journal_in(directory) as journal:
        journal.record(changed("file#/another"))
    assert next(coming).ref == "file#/another"
    history.close()
