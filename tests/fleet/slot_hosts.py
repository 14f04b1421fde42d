"""Many hosts that want one of a few slots and die at random: python tests/fleet/slot_hosts.py --hosts 300

Each host has a connection of its own to a real server. It prints how many had a slot at once at most, and how long all took.
"""

import argparse
import random
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from fleet_server import FleetServer

from reactor.fleet.host.slots import FleetSlots
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.options import Timing
from reactor.resource.common_properties import Slot


@asynccontextmanager
async def slots_of(fleet, name, groups=(), *, connecting=None, **how):
    """The slots of a host with a connection of its own. It dies at the end of the block: nothing is given back.

    ``connecting``: a semaphore that limits how many connect at a time.
    """
    async with trio.open_nursery() as nursery:
        connection = Connection(fleet.options(name), timing=Timing(handshake=60.0))
        async with connecting or trio.Semaphore(1):
            nursery.start_soon(connection.run)
            await connection.wait_up()
        slots = FleetSlots(name, groups, **how)
        nursery.start_soon(slots.run, connection)
        await trio.lowlevel.checkpoint()
        yield slots
        nursery.cancel_scope.cancel()


class Crowd:
    """``most``: how many hosts acted at once at most, and still had their slots; ``deaths``: how many died as they acted."""

    def __init__(self, fleet, hosts, at_most, *, work, dying, seed):
        self.most = self.deaths = 0
        self._fleet = fleet
        self._names = [f"h{n}" for n in range(hosts)]
        self._slot = Slot(name="crowd", at_most=at_most, lease="3s")
        self._work = work
        self._dying = dying
        self._random = random.Random(seed)
        self._acting = set()
        self._connecting = trio.Semaphore(20)

    async def run(self):
        """Return the seconds until every host has done its work."""
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for name in self._names:
                nursery.start_soon(self._host, name)
        return trio.current_time() - began

    async def _host(self, name):
        while not await self._life(name):
            pass

    async def _life(self, name):
        async with slots_of(self._fleet, name, connecting=self._connecting) as slots:
            permit = await slots.admit(self._slot, "service#app", lambda _: None)
            if not permit.is_held:  # the answer came after the lease: a busy machine
                await permit.release()
                return False
            permit.begin()
            self._acting.add(permit)
            self.most = max(self.most, sum(each.is_held for each in self._acting))
            await trio.sleep(self._work)
            self._acting.remove(permit)
            if self._random.random() < self._dying:
                self.deaths += 1
                return False
            permit.end()
            await permit.release()
            return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--at-most", type=int, default=5)
    parser.add_argument("--work", type=float, default=0.2)
    parser.add_argument("--dying", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        fleet = FleetServer(Path(directory))
        with fleet.server:
            trio.run(fleet.make_streams)
            crowd = Crowd(
                fleet, asked.hosts, asked.at_most, work=asked.work, dying=asked.dying, seed=asked.seed
            )
            took = trio.run(crowd.run)
    ideal = asked.hosts * asked.work / asked.at_most
    sys.stdout.write(
        f"{asked.hosts} hosts, {crowd.deaths} deaths: at most {crowd.most} at once; {took:.1f} s, {took / ideal:.1f} x ideal;"
        f" {time.process_time():.1f} s of processor time of the hosts\n"
    )


if __name__ == "__main__":
    main()
