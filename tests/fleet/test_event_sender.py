"""A host sends the events of its journal: each arrives once, in order, whatever fails on the way."""

import itertools
import random
import sqlite3
import time
from base64 import b64encode
from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE

from reactor.cli.running.fleet_journal import JournalEvents
from reactor.console.history_lines import description
from reactor.engine.events import Cause, Checked, Result
from reactor.fleet.bucket_names import EVENTS
from reactor.fleet.event_batch import BATCH, MOST_BYTES, MOST_EVENTS, batch_id_of, decode_batch, message_id
from reactor.fleet.host import refusals
from reactor.fleet.host.ports import Host, Identity, Pace
from reactor.fleet.host.reporting import LONGEST_PAUSE, EventSender
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.events import fleet_events
from reactor.journal.journal import Journal
from reactor.journal.schema import FILE_NAME


def event(name, error=None):
    return Checked(
        time.time(), f"file#/{name}", Result.CHANGED, Cause.DRIFT, 0.001, ("updated",), error=error
    )


class Sending:
    """A journal, and what sends its events."""

    def __init__(self, js, name, directory, events=0.01, clock=time.time):
        self.journal = Journal.open(str(directory), "/etc/site.yaml", print)
        self.log = JournalEvents(self.journal, str(directory))
        self.warned = []
        host = Host(Identity(name, (), ()), {}, None, pace=Pace(events=events), clock=clock)
        self.sender = EventSender(js, host, self.log, self.warned.append)

    @asynccontextmanager
    async def running(self):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.sender.run)
            yield
            nursery.cancel_scope.cancel()

    def record(self, *names, error=None):
        for name in names:
            self.journal.record(event(name, error))
        self.sender.trigger.set()

    async def until_sent(self, count):
        with trio.fail_after(PATIENCE):
            while (await self.log.backlog()).unsent or self.sender.sent < count:  # noqa: ASYNC110
                await trio.sleep(0.01)


async def stored(js, name):
    """The batches in the stream, with their ids."""
    found = []
    async with js.reading(EVENTS, [f"reactor.event.{name}"], start="all") as reader:
        async for each in reader:
            if each is None:
                return found
            found.append((batch_id_of(each.headers), decode_batch(each.data, "a batch"), each.data))
    return None


def refs(batches):
    return [each["ref"] for _, events, _ in batches for each in events]


async def test_events_arrive_in_order_in_batches_within_the_limits(fleet, tmp_path):
    names = [f"n{number}" for number in range(MOST_EVENTS + 50)]
    async with fleet.connected("web1") as js, fleet.connected() as operator:
        sending = Sending(js, "web1", tmp_path)
        sending.record(*names)
        sending.record("large", error="x" * 2000)
        async with sending.running():
            await sending.until_sent(len(names) + 1)
            sending.record("later")
            await sending.until_sent(len(names) + 2)
        batches = await stored(operator, "web1")
        assert refs(batches) == [f"file#/{name}" for name in (*names, "large", "later")]
        assert max(len(events) for _, events, _ in batches) <= MOST_EVENTS
        assert len(batches) == 3
        assert batches[0][2][:4] == b"\x28\xb5\x2f\xfd"
        assert len(batches[0][2]) < MOST_BYTES
        assert batches[2][2].startswith(b'{"id":')
        assert [batch.first for batch, _, _ in batches] == [1, 201, 252]
        sending.journal.close()


async def test_a_batch_whose_acknowledgement_was_lost_is_stored_once(fleet, tmp_path):
    async with fleet.connected("web2") as js, fleet.connected() as operator:
        sending = Sending(js, "web2", tmp_path)
        sending.record("a", "b")
        acknowledge, sending.log.acknowledge = sending.log.acknowledge, None  # the process ends before it
        with pytest.raises(BaseExceptionGroup):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(sending.sender.run)
        assert acknowledge is not None
        sending.journal.close()

        again = Sending(js, "web2", tmp_path)
        again.record("c")
        async with again.running():
            await again.until_sent(3)
        assert refs(await stored(operator, "web2")) == ["file#/a", "file#/b", "file#/c"]
        again.journal.close()


@pytest.mark.parametrize("ahead", [-7200, 7200])
async def test_events_since_a_time_are_those_of_the_servers_clock_when_that_of_a_host_is_wrong(
    fleet, tmp_path, ahead
):
    name = f"clock{ahead}"
    async with fleet.connected(name) as js, fleet.connected() as operator:
        sending = Sending(js, name, tmp_path, clock=lambda: time.time() + ahead)
        for word, ago in (("old", 3600), ("new", 60)):
            sending.journal.record(replace(event(word), time=time.time() + ahead - ago))
        async with sending.running():
            await sending.until_sent(2)
        found = [
            each
            async for batch in fleet_events(operator, since=time.time() - 600, hosts=[name])
            for each in batch
        ]
        assert [each.record["ref"] for each in found] == ["file#/new"]
        assert found[0].time == pytest.approx(time.time() - 60, abs=PATIENCE / 2)
        sending.journal.close()


@pytest.mark.parametrize("small", ["server", "stream"])
async def test_an_event_that_the_server_does_not_take_is_told_as_lost_and_stops_no_other(tmp_path, small):
    server = FleetServer(tmp_path)
    if small == "server":
        server.server._file.write_text(server.server._file.read_text() + "max_payload: 1200\n")
    noise = b64encode(random.Random(1).randbytes(2000)).decode()
    with server.server:
        await server.make_streams()
        async with server.connected("web1") as js, server.connected() as operator:
            if small == "stream":
                config = (await operator.stream_info(EVENTS))["config"]
                await operator.update_stream(EVENTS, {**config, "max_msg_size": 1200})
            sending = Sending(js, "web1", tmp_path)
            sending.record("a", "b")
            sending.record("huge", error=noise)
            sending.record("c", "d")
            async with sending.running():
                await sending.until_sent(5)
            assert js.connection.epoch == 1
            batches = await stored(operator, "web1")
            told = [each.get("ref", each.get("count")) for _, events, _ in batches for each in events]
            assert told == ["file#/a", "file#/b", 1, "file#/c", "file#/d"]
            (lost,) = [each for _, events, _ in batches for each in events if each["event"] == "recordslost"]
            assert description(lost) == "1 events were lost before they were sent"
            sending.journal.close()


async def test_a_host_says_once_that_the_servers_do_not_take_its_events(tmp_path, monkeypatch):
    monkeypatch.setattr(refusals, "_CERTAIN", 1)
    server = FleetServer(tmp_path)
    with server.server:
        await server.make_streams()
        async with server.connected("web1", seconds=5.0) as js, server.connected() as operator:
            config = (await operator.stream_info(EVENTS))["config"]
            await operator.update_stream(EVENTS, {**config, "max_bytes": 10, "discard": "new"})
            sending = Sending(js, "web1", tmp_path)
            sending.record("a")
            async with sending.running():
                with trio.fail_after(PATIENCE):
                    while not sending.warned:  # noqa: ASYNC110 - the sender sets no event
                        await trio.sleep(0.01)
                (warning,) = sending.warned
                assert warning.startswith("the servers of the fleet do not take the events of this host: ")
                assert "maximum bytes exceeded" in warning
                await operator.update_stream(EVENTS, config)
                await sending.until_sent(1)
            assert len(sending.warned) == 1
            sending.journal.close()


async def everything_of(js, name):
    """All headers of the batches of a host."""
    found = []
    async with js.reading(EVENTS, [f"reactor.event.{name}"], start="all") as reader:
        async for each in reader:
            if each is None:
                break
            found.append(each.headers)
    return found


async def test_who_has_read_all_batches_of_a_host_can_not_drop_the_next(fleet, tmp_path):
    """The servers look for a message id among those of all hosts, and mallory sends each that it can think of first."""
    async with (
        fleet.connected("web6") as js,
        fleet.connected("mallory") as mallory,
        fleet.connected() as operator,
    ):
        sending = Sending(js, "web6", tmp_path)
        sending.record("a", "b")
        async with sending.running():
            await sending.until_sent(2)
            (headers,) = await everything_of(operator, "web6")
            old, journal = headers["Nats-Msg-Id"], batch_id_of(headers).journal
            for last in range(3, 6):
                for known in (old, journal):
                    for guess in (known, f"{known}:3-{last}", message_id(known, 3, last)):
                        stolen = {BATCH: f"{journal}:1-{last}"}
                        await mallory.publish(
                            "reactor.event.mallory", b"{}\n", headers=stolen, message_id=guess
                        )
            sending.record("c")
            await sending.until_sent(3)
        seen = [
            each.record["ref"]
            async for events in fleet_events(operator, since=0)
            for each in events
            if each.host == "web6"
        ]
        assert seen == ["file#/a", "file#/b", "file#/c"]
        sending.journal.close()


async def at_once(work, *arguments, **_):
    """In place of a thread, in which the clock would jump."""
    await trio.lowlevel.checkpoint()
    return work(*arguments)


@pytest.mark.parametrize("at_once", [True, False], ids=["a clone beside it", "a restored snapshot"])
async def test_events_of_a_copied_journal_arrive_although_their_ids_were_used(fleet, tmp_path, at_once):
    name = "web7" if at_once else "web8"
    async with fleet.connected(name) as js, fleet.connected() as operator:
        for directory in ("first", "copy"):
            (tmp_path / directory).mkdir()
        first = Sending(js, name, tmp_path / "first")
        first.record("a", "b")
        async with first.running():
            await first.until_sent(2)
            with (
                closing(sqlite3.connect(tmp_path / "first" / FILE_NAME)) as journal,
                closing(sqlite3.connect(tmp_path / "copy" / FILE_NAME)) as copied,
            ):
                journal.backup(copied)
            first.record("c", "d", "e")
            await first.until_sent(5)
            copy = Sending(js, name, tmp_path / "copy")
            copy.record("f", "g")
            async with copy.running():
                await copy.until_sent(2)
                if at_once:
                    first.record("h")
                    await first.until_sent(6)
        seen = [
            each.record["ref"]
            async for events in fleet_events(operator, since=0)
            for each in events
            if each.host == name
        ]
        later = ["file#/h"] if at_once else []
        assert seen == [f"file#/{each}" for each in "abcdefg"] + later
        first.journal.close()
        copy.journal.close()


async def test_without_servers_one_batch_waits_and_the_pauses_double(tmp_path, autojump_clock, monkeypatch):
    monkeypatch.setattr(trio.to_thread, "run_sync", at_once)
    connection = Connection(Options(servers=("nats://127.0.0.1:1",)))
    sending = Sending(JetStream(connection), "web3", tmp_path)
    sending.record("a")
    times = []
    publish = sending.sender._js.publish

    async def note(*arguments, **how):
        times.append(trio.current_time())
        return await publish(*arguments, **how)

    sending.sender._js.publish = note
    async with sending.running():
        await trio.sleep(2000)
        for _ in range(500):
            sending.record("b")
        await trio.sleep(100)
        pauses = [after - before for before, after in itertools.pairwise(times)]
        assert [round(pause) for pause in pauses[:4]] == pytest.approx([1, 2, 4, 8], rel=0.3)
        assert max(pauses) <= LONGEST_PAUSE * 1.25
        assert len(times) < 20
        assert sending.sender.sent == 0
        before = len(times)
        sending.sender.reconnected.set()
        await trio.sleep(1)
        assert len(times) == before + 1
    sending.journal.close()
