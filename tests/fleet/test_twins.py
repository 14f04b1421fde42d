"""Two machines with one identity, as after a clone of a virtual machine: both are told, and so are operators."""

from functools import partial

import pytest
import trio
from known_fleet import remember
from nats_servers import PATIENCE
from sim_fleet import PACE, SimFleet, until

from reactor.fleet.bucket_names import STATE
from reactor.fleet.host.fleet_host import FleetHost
from reactor.fleet.link.connection import Connection
from reactor.fleet.summary import read_summary
from reactor.fleet.testing import SimHost

BEATS = PACE._replace(beat=1.0)


@pytest.fixture
def fleet(tmp_path):
    made = SimFleet(tmp_path, ["web1"], pace=BEATS)
    with made.fleet_server.server:
        trio.run(made.fleet_server.make_streams)
        yield made


async def summary(js, wanted):
    """Wait for a summary of which ``wanted`` is true."""
    with trio.fail_after(PATIENCE):
        async with js.key_value(STATE).watch("web1") as entries:
            async for entry in entries:
                if entry is not None and entry.value != b"{}" and wanted(read_summary(entry.value, "web1")):
                    return


async def shown(reactor, fleet, *words):
    """Wait until a command shows that there are two machines."""
    command = partial(reactor, "fleet", *words, "--home", remember(fleet.fleet_server))
    with trio.fail_after(PATIENCE):
        while "two machines report under this name" not in (await trio.to_thread.run_sync(command)).out:  # noqa: ASYNC110 - what changes it is another program
            await trio.sleep(0.1)


async def test_two_machines_with_one_identity_are_told_to_both_and_to_operators(fleet, reactor):
    clone, warned = SimHost("web1", ["web"], fleet.signers, pace=BEATS), []
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await until(lambda: fleet.taken("web1") == [1])
        original = fleet.hosts["web1"].fleet.reporter
        connection = Connection(fleet.fleet_server.options("web1"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run)
            nursery.start_soon(FleetHost(connection, clone.host, warned.append).run)
            await summary(js, lambda told: told.twin)
            await until(lambda: original.has_twin and warned)
            await shown(reactor, fleet, "status")
            await shown(reactor, fleet, "why", "web1")
            nursery.cancel_scope.cancel()
        assert warned[0].startswith("another machine reports as web1, too")
        await summary(js, lambda told: not told.twin)


async def test_a_summary_that_is_replaced_once_proves_no_second_machine(fleet):
    """As by servers that were restored from a backup."""
    async with fleet.running() as js:
        await until(lambda: fleet.hosts["web1"].fleet and fleet.hosts["web1"].fleet.reporter.sent)
        reporter = fleet.hosts["web1"].fleet.reporter
        await js.key_value(STATE).put("web1", b"{}")
        sent = reporter.sent
        await until(lambda: reporter.sent > sent)
        await summary(js, lambda told: not told.twin)
        assert not reporter.has_twin
