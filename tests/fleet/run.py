"""Longer outages of a cluster of three, in one command: `python tests/fleet/run.py [ROUNDS]`. Prints a line for each."""

import sys
import tempfile

import trio
from nats_servers import Cluster
from outages import leader_dies


async def run(rounds):
    with tempfile.TemporaryDirectory() as directory, Cluster(directory) as cluster:
        for number in range(rounds):
            for how in ("kill", "lame_duck"):
                gap, traffic, leader = await leader_dies(
                    cluster, f"B{number}{how}", how=how, before=2, after=3
                )
                print(
                    f"{number} {how} of the leader {leader.name}: {len(traffic.acknowledged)} writes acknowledged,"
                    f" longest gap {gap:.2f} s, {traffic.lag:.2f} s of it after the election, none lost, all seen in order",
                    flush=True,
                )
                leader.kill()
                leader.start()
        await no_quorum(cluster)


async def no_quorum(cluster):
    """Two of three die and come back."""
    gap, traffic, _ = await leader_dies(Majority(cluster), "QUORUM", how="kill_two", before=1, after=3)
    print(
        f"two of three killed for 3 s: {len(traffic.acknowledged)} writes, longest gap {gap:.2f} s, none lost",
        flush=True,
    )


class Majority:
    """A cluster whose leader takes another server with it; both are started again 3 s later."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.urls = cluster.urls
        self._victims = []
        self.name = "two"

    def named(self, name):
        leader = self._cluster.named(name)
        other = next(each for each in self._cluster.servers if each is not leader)
        self._victims = [leader, other]
        return self

    def kill_two(self):
        for server in self._victims:
            server.kill()
        trio.lowlevel.spawn_system_task(self._start_again)

    async def _start_again(self):
        await trio.sleep(3)
        for server in self._victims:
            server.begin()
        for server in self._victims:
            await trio.to_thread.run_sync(server.ready)


if __name__ == "__main__":
    trio.run(run, int(sys.argv[1]) if len(sys.argv) > 1 else 2)
