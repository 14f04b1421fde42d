import sys

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE, NatsServer
from nats_site import Run, Site
from processes_of_cli import environment, spawned
from ssh_hosts import ssh_world

from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server with JetStream for the tests of a module."""
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """One server with the accounts and streams of a fleet for the tests of a module."""
    made = FleetServer(tmp_path_factory.mktemp("fleet"))
    with made.server:
        trio.run(made.make_streams)
        yield made


@pytest.fixture
async def js(server):
    """The JetStream of a connection to that server."""
    async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as connection:
        yield JetStream(connection)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A world without hosts; each module starts its own."""
    with ssh_world(tmp_path_factory.mktemp("ssh")) as made:
        yield made


@pytest.fixture
def site(server, tmp_path, monkeypatch, request):
    made = Site(server, tmp_path, "".join(filter(str.isalnum, request.node.name)))
    monkeypatch.setenv("XDG_CONFIG_HOME", made.variables["XDG_CONFIG_HOME"])
    return made


@pytest.fixture
def converger(site):
    """Start a converger, and wait until it has converged."""
    started = []

    def start(*args, until="converged"):
        options = ["--format", "json", "--cache", site.root / "cache", "--state-dir", site.root / "state"]
        running = spawned("run", *options, *args, env=environment(**site.variables))
        started.append(running)
        run = Run(running.__enter__())
        run.last = run.heard(until)
        return run

    yield start
    for running in started:
        running.__exit__(*sys.exc_info())
