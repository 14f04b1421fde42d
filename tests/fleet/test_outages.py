"""Servers that die: how soon the next change is heard, and whether anything is lost."""

import pytest
import trio
from buckets import make_bucket
from nats_servers import PATIENCE, Cluster
from outages import leader_dies

from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


async def test_after_a_restart_the_next_change_is_heard_within_half_a_second(server):
    times = []
    async with connected(Options(servers=(server.url,))) as link:
        bucket = JetStream(link).key_value("restarts")
        await make_bucket(bucket)
        async with bucket.watch() as watch:
            assert await anext(watch) is None
            for number in range(5):
                server.kill()
                server.start()
                began = trio.current_time()
                async with connected(Options(servers=(server.url,))) as other:
                    await JetStream(other).key_value("restarts").put("k", b"%d" % number)
                with trio.fail_after(PATIENCE):
                    assert (await anext(watch)).value == b"%d" % number
                times.append(trio.current_time() - began)
    assert min(times) <= 0.5, f"a busy machine is late at times: {times}"


async def test_three_nodes_whose_leader_is_killed_lose_nothing(cluster):
    gap, traffic, leader = await leader_dies(cluster, "KILLED", after=0.2)
    leader.start()
    assert len(traffic.acknowledged) > 20
    assert traffic.lag <= 1, (
        "how long the servers take to elect another leader, 4 to 9 s, is their own affair"
    )
    assert gap <= PATIENCE


async def test_who_is_connected_to_a_server_that_stops_goes_elsewhere_at_once(cluster):
    lame = cluster.servers[0]
    async with connected(Options(servers=(lame.url,)), seconds=PATIENCE) as link:
        moved = trio.Event()
        began = None

        def look(status):
            if status.up:
                moved.set()

        with link.watched(look):
            with trio.fail_after(PATIENCE):
                while len(link.pool) < 3:  # noqa: ASYNC110 - the cluster is being made
                    await trio.sleep(0.05)
                moved = trio.Event()
                began = trio.current_time()
                lame.lame_duck()
                await moved.wait()
        assert trio.current_time() - began < 8, "after ten seconds the server itself would begin to close"
        assert link.status.server != lame.url
        assert link.epoch == 2
        await link.flush()
