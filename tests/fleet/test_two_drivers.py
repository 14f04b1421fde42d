"""Two drivers and a partition: the one that is cut off never succeeds, whatever it decided before."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio
from known_fleet import put_host, put_state, state
from nats_servers import PATIENCE
from sim_fleet import SimFleet

from reactor.fleet.bucket_names import HOSTS
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator import drive
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.drive import Driver
from reactor.fleet.rollout.commands import Author, advance
from reactor.fleet.rollout.gate import Gate, Share
from reactor.fleet.rollout.state import Phase


class Relay:
    """Passes bytes to a server. While it is cut, what a client sends waits, as in a network without a route."""

    def __init__(self, port):
        self._port = port
        self.open = trio.Event()
        self.open.set()

    def cut(self):
        self.open = trio.Event()

    async def run(self, *, task_status=trio.TASK_STATUS_IGNORED):
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, self._serve, 0)
            task_status.started(listeners[0].socket.getsockname()[1])

    async def _serve(self, client):
        server = await trio.open_tcp_stream("127.0.0.1", self._port)
        async with server, trio.open_nursery() as nursery:
            nursery.start_soon(self._pass, client, server)
            nursery.start_soon(self._pass, server, client)

    async def _pass(self, source, target):
        async for data in source:
            await self.open.wait()
            await target.send_all(data)


@asynccontextmanager
async def through(fleet, relay, nursery):
    port = await nursery.start(relay.run)
    options = replace(fleet.fleet_server.options(), servers=(f"nats://127.0.0.1:{port}",))
    async with connected(options) as connection:
        yield JetStream(connection, seconds=30.0)


@pytest.fixture
def fleet(tmp_path):
    made = SimFleet(tmp_path, [])
    with made.fleet_server.server:
        trio.run(made.fleet_server.make_streams)
        yield made


async def test_a_driver_that_is_cut_off_never_succeeds(fleet, monkeypatch):
    monkeypatch.setattr(drive, "LEASE", 2)
    relay = Relay(fleet.fleet_server.server.port)
    async with fleet.fleet_server.connected() as js, trio.open_nursery() as nursery:
        await put_host(js, "web1")
        await put_state(js, state(gate=Gate(soak=0, max_silent=Share("100%"))))
        async with through(fleet, relay, nursery) as far:
            ann, ben = Driver(far, "web", "ann"), Driver(js, "web", "ben")
            assert await ann.lease.keep()
            assert not await ben.lease.keep()
            before, revision = await Channels(far).read("web")
            decided = advance(before, Author("ann", before.since))

            relay.cut()
            refused = []

            async def write_late():
                try:
                    await Channels(far).write(decided, revision)
                except WrongRevisionError as error:
                    refused.append(error)

            with trio.fail_after(PATIENCE):
                async with trio.open_nursery() as writing:
                    writing.start_soon(write_late)
                    while not await ben.lease.keep():  # noqa: ASYNC110 - the server ends the lease, and sends no hint
                        await trio.sleep(0.05)
                    assert not ann.lease.held, "two drivers hold the lease"
                    mine = await ben.step()
                    assert (mine.phase, mine.wave, mine.by) == (Phase.ROLLING, 10_000, "ben")
                    assert not refused
                    relay.open.set()
            assert len(refused) == 1
            assert (await Channels(js).read("web"))[0].to_bytes() == mine.to_bytes()
            assert await ann.step() is not None  # it may look, and has no lease to write
            assert not await ann.lease.keep()
            assert (await Channels(js).read("web"))[0].by == "ben"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("full", ["KV_reactor_drive", "KV_reactor_channels"])
async def test_a_driver_says_that_the_servers_have_no_room_and_goes_on_when_they_have(fleet, full):
    async with fleet.fleet_server.connected() as js, trio.open_nursery() as nursery:
        await put_host(js, "web1")
        await put_state(js, state(gate=Gate(soak=0, max_silent=Share("100%"))))
        config = (await js.stream_info(full))["config"]
        await js.update_stream(full, {**config, "max_bytes": 1})
        heard, told = trio.Event(), []

        def trouble(error):
            told.append(error.message)
            if "maximum bytes exceeded" in error.message:
                heard.set()

        # It repeats a refused request for this many seconds.
        impatient = JetStream(js.connection, seconds=1.0, first_wait=0.2)
        driver = Driver(impatient, "web", "ann", on_trouble=trouble, interval=0.05)
        nursery.start_soon(driver.run)
        with trio.fail_after(PATIENCE):
            await heard.wait()
            assert (await Channels(js).read("web"))[0].wave == state().wave
            await js.update_stream(full, {**config, "max_bytes": -1})
            while (await Channels(js).read("web"))[0].wave == state().wave:  # noqa: ASYNC110 - the driver changes it
                await trio.sleep(0.05)
        assert len([each for each in told if "maximum bytes exceeded" in each]) == 1
        nursery.cancel_scope.cancel()


async def test_a_host_whose_document_can_not_be_read_stops_the_rollout_and_is_named(fleet):
    """It may be of a newer version. Left out, it would be in no channel, and the wave would be good without it."""
    async with fleet.fleet_server.connected() as js, trio.open_nursery() as nursery:
        await put_state(js, state(gate=Gate(soak=0)))
        await js.key_value(HOSTS).put("web1", b'{"v":2,"channels":["web"]}')
        heard, told = trio.Event(), []

        def trouble(error):
            told.append((error.message, error.hint))
            heard.set()

        nursery.start_soon(Driver(js, "web", "ann", on_trouble=trouble, interval=0.05).run)
        with trio.fail_after(PATIENCE):
            await heard.wait()
            assert (await Channels(js).read("web"))[0].wave == state().wave
            await put_host(js, "web1", channels=("db",))
            while (await Channels(js).read("web"))[0].wave == state().wave:  # noqa: ASYNC110 - the driver changes it
                await trio.sleep(0.05)
        nursery.cancel_scope.cancel()
    assert told == [
        ("the spec for web1 has version 2, and 1 is understood here", "install a newer reactor here")
    ]


async def test_who_looks_on_while_another_drives_learns_how_it_ended(fleet):
    async with fleet.fleet_server.connected() as js, trio.open_nursery() as nursery:
        await put_state(js, state(gate=Gate(soak=0), waves=(10_000,), wave=10_000))
        ann, seen = Driver(js, "web", "ann"), []
        assert await ann.lease.keep()
        ben = Driver(js, "web", "ben", on_state=lambda found, _: seen.append(found.phase), interval=0.05)
        ended = []

        async def look_on():
            ended.append(await ben.run(until_ended=True))
            nursery.cancel_scope.cancel()

        nursery.start_soon(look_on)
        with trio.fail_after(PATIENCE):
            while not seen:  # noqa: ASYNC110 - the other driver reads the servers
                await trio.sleep(0.01)
            assert (await ann.step()).phase is Phase.DONE
            await trio.sleep_forever()
    assert (ended[0].phase, ended[0].by, seen) == (Phase.DONE, "ann", [Phase.ROLLING, Phase.DONE])


async def test_who_looks_on_while_another_drives_learns_what_the_wave_waits_for(fleet):
    said = []
    async with fleet.fleet_server.connected() as js:
        await put_state(js, state(wave=10_000))
        await put_host(js, "web1")
        ann = Driver(js, "web", "ann")
        ben = Driver(js, "web", "ben", on_state=lambda _, why: said.append(why))
        assert await ann.lease.keep()
        assert not await ben.lease.keep()
        await ben._step_if_allowed()
    (why,) = said
    assert "have not reported since the wave began" in why


async def test_what_a_wave_waits_for_is_said_once_in_each_interval_however_many_hosts_report(autojump_clock):
    said = []
    js = JetStream(Connection(Options(servers=("nats://127.0.0.1:1",))))
    driver = Driver(
        js, "web", "ann", on_state=lambda found, why: said.append((found.wave, why)), interval=5.0
    )
    for wave in (100, 10_000):
        for number in range(60):
            driver._report(state(wave=wave), f"{60 - number} hosts have not reported")
            await trio.sleep(0.25)
    assert [why for wave, why in said if wave == 100] == [
        f"{left} hosts have not reported" for left in (60, 40, 20)
    ]
    assert len(said) == 6
