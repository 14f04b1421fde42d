"""Simulated hosts, an operator who signs, and a driver, on a real server."""

from contextlib import asynccontextmanager
from functools import partial

import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE
from signers_of_tests import new_key, public, signers_of

from reactor.fleet.bucket_names import CHANNELS, HOSTS
from reactor.fleet.bundle.digest import digest_of
from reactor.fleet.bundle.pack import Bundle
from reactor.fleet.host.ports import Pace
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.options import Timing
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.stored_releases import publish_bundle, publish_release
from reactor.fleet.release.document import Release
from reactor.fleet.release.signing import sign
from reactor.fleet.release.verify import RELEASE
from reactor.fleet.rollout.commands import NewRelease
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.testing import SimHost

PACE = Pace(look=5.0, summary=0.02, beat=2.0, burst=100)
GATE = Gate(soak=0.1)
MADE = 1_700_000_000.0
CONNECTING = 20
"""How many hosts of one process connect at the same time: the others would lose patience with it."""


class SimFleet:
    """``hosts`` follow the channel web; ``releases`` by serial.

    They share one process: where they are many, each waits for it, and ``pace.answer`` says how long.
    """

    def __init__(self, directory, names, canaries=(), pace=PACE):
        self.fleet_server = FleetServer(directory)
        self.key = new_key(directory, "ann")
        self.signers = signers_of(f"ann {public(self.key)}")
        self.hosts = {
            name: SimHost(
                name, ["web"], self.signers, groups=["canary"] if name in canaries else [], pace=pace
            )
            for name in names
        }
        self.releases = {}
        self._pace = pace
        self._connecting = trio.Semaphore(CONNECTING)

    def release(self, serial, previous=None, *, content=None, channel="web", **fields):
        """Make and sign a release with a bundle of its own; return it with bundle and signatures."""
        data = content or f"bundle {serial}".encode()
        before = self.releases[previous].digest if previous else None
        release = Release(channel, serial, digest_of(data), len(data), before, **{"created": MADE, **fields})
        self.releases[serial] = release
        return release, Bundle(data, release.bundle, 1), sign(release.to_bytes(), self.key, RELEASE)

    async def publish(self, js, serial, previous=None, **fields):
        release, bundle, signatures = self.release(serial, previous, **fields)
        await publish_bundle(js, bundle)
        await publish_release(js, release, signatures)
        return release

    async def begin(self, js, serial, previous=None, *, waves=(10_000,), gate=GATE, splay=0.0, **fields):
        release = await self.publish(js, serial, previous, **fields)
        new = NewRelease("web", release.digest, serial, release.previous)
        return await Channels(js).begin(new, waves, gate, "ann", splay=splay)

    async def enrol(self, js):
        for host in self.hosts.values():
            identity = host.host.identity
            spec = HostSpec(host.name, identity.channels, identity.groups)
            await js.key_value(HOSTS).put(host.name, spec.to_bytes())

    async def run_host(self, name):
        answer = self._pace.answer
        timing = Timing(handshake=answer, ping=max(30.0, answer))
        connection = Connection(self.fleet_server.options(name), timing=timing)
        async with trio.open_nursery() as nursery:
            async with self._connecting:
                nursery.start_soon(connection.run)
                await connection.wait_up()
            nursery.start_soon(self.hosts[name].run, connection)

    @asynccontextmanager
    async def running(self):
        """All hosts run; yields JetStream of the operator."""
        async with self.fleet_server.connected(seconds=self._pace.answer) as js:
            await self.enrol(js)
            async with trio.open_nursery() as nursery:
                for name in self.hosts:
                    nursery.start_soon(partial(self.run_host, name))
                yield js
                nursery.cancel_scope.cancel()

    def taken(self, name):
        return self.hosts[name].stores["web"].taken

    def in_force(self):
        return {
            name: host.stores["web"].taken[-1] if self.taken(name) else None
            for name, host in self.hosts.items()
        }


async def until(condition, seconds=PATIENCE, *, pause=0.01):
    """Wait until ``condition`` is true of a world that changes by events of others."""
    with trio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - what changes it is another program
            await trio.sleep(pause)


async def phase_of(js, channel="web"):
    return (await Channels(js).read(channel))[0].phase


__all__ = ["CHANNELS", "GATE", "MADE", "PACE", "SimFleet", "phase_of", "until"]
