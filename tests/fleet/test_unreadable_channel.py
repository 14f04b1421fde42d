"""A host of which the servers do not know the channels says so, and tries again: on a real server, without streams."""

import pytest
import trio
import trio.testing
from fleet_server import FleetServer
from nats_servers import PATIENCE

from reactor.fleet.host import follow
from reactor.fleet.host.fleet_host import FleetHost
from reactor.fleet.host.ports import Host, Identity, Pace
from reactor.fleet.testing import SimEngine, SimReleases


@pytest.fixture(scope="module")
def without_streams(tmp_path_factory):
    made = FleetServer(tmp_path_factory.mktemp("empty"))
    with made.server:
        yield made


def host(pace):
    return Host(Identity("web1", ("web",), ()), {"web": SimReleases()}, SimEngine(), pace=pace)


async def test_a_channel_that_can_not_be_followed_is_told_once(without_streams, monkeypatch):
    monkeypatch.setattr(follow, "_LASTING", 0.0)
    told, warned = trio.Event(), []

    def warn(words):
        warned.append(words)
        if "web" in words:
            told.set()

    async with without_streams.connected("web1") as js, trio.open_nursery() as nursery:
        fleet = FleetHost(js.connection, host(Pace(answer=0.2, longest_retry=0.1)), warn)
        nursery.start_soon(fleet.run)
        with trio.fail_after(PATIENCE):
            await told.wait()
            for _ in range(3):
                fleet.followers[0].trigger.set()
                await trio.testing.wait_all_tasks_blocked(0.3)
        nursery.cancel_scope.cancel()
    (found,) = [each for each in warned if "web" in each]
    assert found.startswith("the channel web can't be followed: ")


async def test_the_first_repetition_comes_after_the_first_pause(without_streams):
    waited, enough = [], trio.Event()

    class Recorder:
        def set(self):
            pass

        async def wait(self, longest):
            waited.append(longest)
            if len(waited) == 3:
                enough.set()
                await trio.sleep_forever()

    async with without_streams.connected("web2") as js, trio.open_nursery() as nursery:
        fleet = FleetHost(js.connection, host(Pace(answer=0.2, first_retry=0.5, longest_retry=60.0)))
        fleet._spec_changed = Recorder()
        nursery.start_soon(fleet.run)
        with trio.fail_after(PATIENCE):
            await enough.wait()
        nursery.cancel_scope.cancel()
    assert waited == [0.5, 1.0, 2.0]
