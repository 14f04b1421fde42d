"""Entries for systemd's journal: the protocol on a real socket. That the real journal takes them is tested on a real systemd."""

import array
import os
import socket
from contextlib import contextmanager

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from reactor.console.journald import Journald, JournaldSink, encoded, fields, priority
from reactor.console.style import leads_to_journal
from reactor.engine.events import (
    Blocked,
    Cause,
    Checked,
    Converged,
    EventsLost,
    Output,
    ReloadRejected,
    Result,
    WatcherChanged,
)
from reactor.resource import redaction
from reactor.resource.watch import WatchState


def decoded(datagram):
    """The fields of an entry, read as journald does."""
    entry = {}
    while datagram:
        head, _, rest = datagram.partition(b"\n")
        name, equals, value = head.partition(b"=")
        if not equals:
            size = int.from_bytes(rest[:8], "little")
            value, end, datagram = rest[8 : 8 + size], rest[8 + size : 9 + size], rest[9 + size :]
            assert end == b"\n"
        else:
            datagram = rest
        entry[name.decode()] = value.decode()
    return entry


class FakeJournal:
    """The other end of the socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(path)

    def heard(self):
        entries = []
        while True:
            try:
                datagram, controls, _, _ = self.socket.recvmsg(1 << 20, socket.CMSG_SPACE(4))
            except BlockingIOError:
                return entries
            for _, _, data in controls:
                (descriptor,) = array.array("i", data)
                with open(descriptor, "rb") as memory:
                    memory.seek(0)
                    datagram = memory.read()
            entries.append(decoded(datagram))


@contextmanager
def journal_at(path):
    journal = FakeJournal(str(path))
    try:
        yield journal
    finally:
        journal.socket.close()


@pytest.fixture
def journal(tmp_path):
    with journal_at(tmp_path / "socket") as journal:
        yield journal


def checked(result=Result.CHANGED, **more):
    return Checked(1.5, "file#/a", result, Cause.DRIFT | Cause.REFRESH, 0.25, **more)


NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True)


@given(st.dictionaries(NAMES, st.text(st.characters(exclude_categories=["Cs"]))))
def test_what_is_encoded_is_read_the_same(entry):
    assert decoded(encoded(entry)) == entry


def test_fields_are_those_of_the_documented_event():
    assert fields(checked(actions=("one", "two"), diffs=("-a\n+b\n",))) == {
        "REACTOR_EVENT": "checked",
        "REACTOR_REF": "file#/a",
        "REACTOR_RESULT": "changed",
        "REACTOR_CAUSES": "drift, refresh",
        "REACTOR_DURATION": "0.25",
        "REACTOR_ACTIONS": "one, two",
    }


@pytest.mark.parametrize(
    ("event", "urgency"),
    [
        (checked(Result.FAILED, error="x"), "3"),
        (checked(Result.CHANGED), "5"),
        (checked(Result.OK), "6"),
        (Blocked(1.0, "file#/a", ("file#/b",)), "4"),
        (EventsLost(1.0, "inotify", "x"), "4"),
        (ReloadRejected(1.0, ("x",)), "4"),
        (WatcherChanged(1.0, "inotify", WatchState.DOWN, "x"), "4"),
        (WatcherChanged(1.0, "inotify", WatchState.ARMED, "x"), "6"),
        (Converged(1.0, 1, 0.1), "6"),
    ],
)
def test_what_is_urgent_has_a_low_number(event, urgency):
    assert priority(event) == urgency


def test_an_event_is_an_entry_if_a_terminal_would_show_it(tmp_path, journal):
    journald = Journald(pytest.fail, str(tmp_path / "socket"))
    sink = JournaldSink(journald, continuous=True)
    for event in (checked(Result.OK), checked(actions=("mended",)), Output(1.0, "exec#x", "hello")):
        sink(event)
    journald.finish()
    changed, said = journal.heard()
    assert changed["MESSAGE"] == "file#/a  changed  mended (drift, refresh, 250 ms)"
    assert changed["SYSLOG_IDENTIFIER"] == "reactor"
    assert said["MESSAGE"] == "exec#x | hello"
    assert said["REACTOR_LINE"] == "hello"


async def test_a_journal_that_is_busy_gets_everything_later_and_in_order(tmp_path, journal):
    journald = Journald(pytest.fail, str(tmp_path / "socket"))
    heard = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journald.run)
        for number in range(3000):
            journald.write({"MESSAGE": str(number)})
        with trio.fail_after(60):
            while len(heard) < 3000:
                await trio.lowlevel.wait_readable(journal.socket)
                heard += journal.heard()
        nursery.cancel_scope.cancel()
    journald.finish()
    assert [entry["MESSAGE"] for entry in heard] == [str(number) for number in range(3000)]


async def test_entries_that_a_stuck_journal_leaves_waiting_are_bounded_and_the_lost_ones_are_counted(
    tmp_path, journal, nursery, monkeypatch
):
    monkeypatch.setattr("reactor.console.journald.LIMIT", 100_000)
    journald = Journald(pytest.fail, str(tmp_path / "socket"))
    for number in range(500):
        journald.write({"MESSAGE": f"{number:<1000}"})
    nursery.start_soon(journald.run)
    heard = []
    with trio.fail_after(60):
        while not heard or "lost" not in heard[-1]:
            await trio.lowlevel.wait_readable(journal.socket)
            heard += [entry["MESSAGE"].strip() for entry in journal.heard()]
    *kept, told = heard
    assert kept == [str(number) for number in range(len(kept))]
    assert len(kept) < 110
    assert told == f"{500 - len(kept)} entries are lost: the journal took none for too long"
    journald.write({"MESSAGE": "later"})
    await trio.testing.wait_all_tasks_blocked()
    assert [entry["MESSAGE"] for entry in journal.heard()] == ["later"]
    nursery.cancel_scope.cancel()
    journald.finish()


def test_a_stuck_journal_does_not_keep_the_process_from_ending(tmp_path, journal, monkeypatch):
    monkeypatch.setattr("reactor.console.journald._LAST_WAIT", 0.0)
    journald = Journald(pytest.fail, str(tmp_path / "socket"))
    for number in range(100):
        journald.write({"MESSAGE": str(number)})
    journald.finish()
    heard = [entry["MESSAGE"] for entry in journal.heard()]
    assert heard == [str(number) for number in range(len(heard))]
    assert 0 < len(heard) < 100


def test_an_entry_too_long_for_a_datagram_comes_in_memory(tmp_path, journal):
    journald = Journald(pytest.fail, str(tmp_path / "socket"))
    text = "long\n" * 300_000
    journald.write({"MESSAGE": text})
    journald.finish()
    assert [entry["MESSAGE"] for entry in journal.heard()] == [text]


async def test_while_there_is_no_journal_its_lines_go_to_the_stream(tmp_path, nursery):
    lines = []
    journald = Journald(lines.append, str(tmp_path / "socket"))
    nursery.start_soon(journald.run)
    journald.write({"MESSAGE": "lost", "PRIORITY": "3"})
    await trio.testing.wait_all_tasks_blocked()
    for message in ("heard", "heard by one that was started anew"):
        with journal_at(tmp_path / "socket") as journal:
            journald.write({"MESSAGE": message})
            await trio.testing.wait_all_tasks_blocked()
            assert [entry["MESSAGE"] for entry in journal.heard()] == [message]
        os.unlink(tmp_path / "socket")
    nursery.cancel_scope.cancel()
    journald.finish()
    assert lines == ["lost\n"]


def test_no_secret_gets_into_an_entry(tmp_path, journal):
    redaction.register_secret("hunter2hunter2")
    try:
        journald = Journald(pytest.fail, str(tmp_path / "socket"))
        journald.write({"MESSAGE": "it is hunter2hunter2", "REACTOR_ERROR": "hunter2hunter2"})
        journald.finish()
    finally:
        redaction.forget_all()
    assert "hunter2hunter2" not in str(journal.heard())


def test_only_the_stream_that_systemd_connected_leads_to_the_journal(tmp_path, monkeypatch):
    with open(tmp_path / "a", "w") as one, open(tmp_path / "b", "w") as other:
        found = os.fstat(one.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}")
        assert leads_to_journal(one.fileno())
        assert not leads_to_journal(other.fileno())
        monkeypatch.delenv("JOURNAL_STREAM")
        assert not leads_to_journal(one.fileno())
    assert not leads_to_journal(99)
