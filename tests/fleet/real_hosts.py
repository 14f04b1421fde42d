"""Real hosts: `reactor fleet follow` in processes of their own, on a real server with signed releases."""

import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager

import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE
from signers_of_tests import new_key, public

from reactor.fleet.bucket_names import CHANNELS, HOSTS, STATE
from reactor.fleet.bundle.pack import pack
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.stored_releases import publish_bundle, publish_release
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases
from reactor.fleet.release.signing import sign
from reactor.fleet.release.verify import RELEASE
from reactor.fleet.rollout.rank import RANKS
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.summary import read_summary

CONFIG = """\
id: {name}
servers: ['{url}']
credentials: {name}.creds
channels: [{channels}]
signers: signers
summary_interval: 0.1
"""
MADE = 1_700_000_000.0
OWN = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'


def file(path, content):
    """A resource of a manifest."""
    return f"  - file: [{path}: {{ensure: present, content: {content!r}, {OWN}}}]\n"


class RealFleet:
    """A server, and what is needed to release and to follow. ``home`` is the directory of everything."""

    def __init__(self, home):
        self.home = home
        self.fleet_server = FleetServer(home)
        self.key = new_key(home, "ann")
        (home / "signers").write_text(f"ann {public(self.key)}\n")
        self.last = {}

    def start(self):
        self.fleet_server.server.start()
        trio.run(self.fleet_server.make_streams)

    def host(self, name, channels=("web",), more=""):
        """Admit a host, and write its configuration."""
        self.fleet_server.host_credentials(name)
        config = self.home / f"{name}.yaml"
        url = self.fleet_server.server.url
        config.write_text(CONFIG.format(name=name, url=url, channels=", ".join(channels)) + more)
        return RealHost(name, self.home, channels)

    @asynccontextmanager
    async def operator(self):
        async with self.fleet_server.connected() as js:
            yield js

    async def put(self, js, channel, resources, *, key=None, files=(), **fields):
        """Release ``resources`` to all hosts of a channel at once. Return the release."""
        site = self.home / "site"
        site.mkdir(exist_ok=True)
        (site / "manifest.yaml").write_text("resources:\n" + resources if resources else "resources: []\n")
        for name, content in dict(files).items():
            (site / name).write_text(content)
        bundle = pack(str(site))
        before = self.last.get(channel)
        fields = {"created": MADE, "serial": before.serial + 1 if before else 1, **fields}
        release = Release(
            channel=channel,
            bundle=bundle.digest,
            size=len(bundle.data),
            previous=before.digest if before else None,
            **fields,
        )
        await publish_bundle(js, bundle)
        await publish_release(js, release, sign(release.to_bytes(), key or self.key, RELEASE))
        await self.point(js, release)
        return release

    async def point(self, js, release):
        """Write the state of a channel, so that all its hosts take ``release``."""
        self.last[release.channel] = release
        state = ChannelState(
            release.channel, release.digest, release.serial, release.previous, RANKS, (RANKS,), Phase.DONE
        )
        await js.key_value(CHANNELS).put(release.channel, state.to_bytes())

    async def wishes(self, js, name, **fields):
        """Write the spec of a host."""
        await js.key_value(HOSTS).put(name, HostSpec(name, **fields).to_bytes())


class RealHost:
    """A host in a process of its own, which can be started again."""

    def __init__(self, name, home, channels):
        self.name = name
        self.config = home / f"{name}.yaml"
        self.state = home / f"{name}-state"
        self.log = home / f"{name}.log"
        self.held = {each: HeldReleases(BundleStore(str(self.state)), each) for each in channels}

    def start(self, *options, **environment):
        words = [sys.executable, "-m", "reactor", "fleet", "follow", "--config", self.config, "--state-dir"]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*words, self.state, *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
            )

    @contextmanager
    def following(self, *options, **environment):
        process = self.start(*options, **environment)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def said(self):
        return self.log.read_text()

    async def until(self, condition, seconds=PATIENCE):
        """Wait for a state of the world that another process makes."""
        with trio.move_on_after(seconds):
            while not condition():  # noqa: ASYNC110 - what changes it is another program
                await trio.sleep(0.01)
            return
        raise AssertionError(self.said())

    async def summary(self, js, wanted, seconds=PATIENCE):
        """Return the first summary from now on of which ``wanted`` is true."""
        found = None
        with trio.move_on_after(seconds):
            async with js.key_value(STATE).watch(self.name) as entries:
                async for entry in entries:
                    if entry is None:
                        continue
                    found = read_summary(entry.value, self.name)
                    if wanted(found):
                        return found
        raise AssertionError(f"{found}\n{self.said()}")

    async def phase(self, js, *phases, channel="web", release=None):
        """Wait until the host reports one of these phases; return its report of the channel."""

        def wanted(summary):
            report = summary.channels.get(channel)
            return report and report.phase in phases and release in (None, report.about)

        return (await self.summary(js, wanted)).channels[channel]
