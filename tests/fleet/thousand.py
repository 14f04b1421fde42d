"""1,000 simulated hosts through a release in four waves, while the leader of three servers is killed twice.

``python tests/fleet/thousand.py [--hosts 1000]`` prints what it measured, and ends with 1 if a host was outside its
wave or is not converged at the end.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE, Cluster
from sim_fleet import SimFleet

from reactor.fleet.bucket_names import CHANNELS
from reactor.fleet.link.options import Options
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.drive import Driver
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import Phase

WAVES = (100, 1000, 5000, 10_000)


class ClusterServer(FleetServer):
    """Three servers in place of one."""

    def __init__(self, directory):
        super().__init__(directory)
        with open(self.fleet_server.path("accounts.conf")) as file:
            self.cluster = Cluster(directory / "cluster")
            text = file.read()
        for server in self.cluster.servers:
            own = text.replace('dir: "accounts"', f'dir: "{server.directory}/jwt"')
            server._file.write_text(server._file.read_text() + own)

    def options(self, name=None):
        given = {} if name is None else {"inbox_prefix": f"_INBOX_{name}"}
        path = self.fleet_server.path(OPERATOR_CREDENTIALS) if name is None else self.host_credentials(name)
        return Options(servers=self.cluster.urls, credentials=path, **given)


class Thousand(SimFleet):
    """Counts what must not be: hosts that took the release outside their wave."""

    def __init__(self, directory, hosts):
        super().__init__(directory, [f"h{number}" for number in range(hosts)])
        self.fleet_server = ClusterServer(directory)
        self.outside = 0
        self.kills = []

    async def make(self):
        """The streams, once the three servers have elected a leader."""
        with trio.fail_after(60):
            while True:
                try:
                    async with self.fleet_server.connected() as js:
                        return await make_streams(js, wanted_streams(3))
                except (Exception, BaseExceptionGroup):  # noqa: BLE001 - not elected yet
                    await trio.sleep(0.2)

    def look(self, state):
        for name in self.hosts:
            if self.taken(name) and rank_of("web", 1, name) >= state.wave:
                self.outside += 1

    async def kill_leader(self):
        """Kill the leader of the channels as a crash does, and start it again."""
        async with self.fleet_server.connected(seconds=PATIENCE) as js:
            leader = (await js.stream_info(f"KV_{CHANNELS}"))["cluster"]["leader"]
        server = self.fleet_server.cluster.named(leader)
        server.kill()
        self.kills.append(leader)
        await trio.to_thread.run_sync(server.start)


@asynccontextmanager
async def driven(fleet):
    """All hosts run, and the release is driven to its end; the leader is killed when the second and third wave begin."""
    with fleet.fleet_server.cluster:
        await fleet.make()
        async with fleet.running() as js:
            began = time.monotonic()
            await fleet.begin(js, 1, waves=WAVES, gate=Gate(soak=1.0))
            async with trio.open_nursery() as nursery:

                def show(state, _):
                    fleet.look(state)
                    if state.wave in WAVES[1:3] and len(fleet.kills) < WAVES.index(state.wave):
                        nursery.start_soon(fleet.kill_leader)

                with trio.fail_after(600):
                    state = await Driver(js, "web", "ann", on_state=show, interval=1.0).run(until_ended=True)
            yield js, state, time.monotonic() - began


async def played(hosts, directory):
    fleet = Thousand(Path(directory), hosts)
    async with driven(fleet) as (js, state, seconds):
        missing = sum(serial != 1 for serial in fleet.in_force().values())
        assert (await Channels(js).read("web"))[0].phase is Phase.DONE
    return fleet, state, missing, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        fleet, state, missing, seconds = trio.run(played, options.hosts, directory)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{options.hosts} hosts, {state.phase} in {seconds:.1f} s; leaders killed: {', '.join(fleet.kills)}"
    )
    print(f"outside their wave: {fleet.outside}; not converged: {missing}; memory {memory:.0f} MiB")
    return 1 if fleet.outside or missing or state.phase is not Phase.DONE else 0


if __name__ == "__main__":
    sys.exit(main())
