"""A server that is cut off from its cluster answers, stores nothing, and tells what is old: hosts and commands leave it."""

import random
from dataclasses import replace

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE, Cluster, NatsServer

from reactor.fleet.bucket_names import STATE
from reactor.fleet.host import reporting
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import ApiError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator import quorum
from reactor.fleet.operator.quorum import follow_quorum
from reactor.fleet.operator.server_config import CONFIG, OPERATOR_CREDENTIALS, make_operator_directory
from reactor.fleet.operator.session import operator_options, operator_session, save_servers
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.testing import SimHost


async def test_a_host_whose_summaries_a_server_does_not_store_goes_to_another(tmp_path, monkeypatch):
    monkeypatch.setattr(random, "shuffle", lambda _: None)  # the order of the servers
    monkeypatch.setattr(reporting, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(reporting, "_ISOLATED", 0.1)
    made = FleetServer(tmp_path)
    accounts = await trio.Path(made.fleet_server.path(CONFIG)).read_text()
    accounts = accounts.replace('dir: "accounts"', 'dir: "{directory}/jwt"')
    with (
        NatsServer(tmp_path / "isolated", accounts) as isolated,
        NatsServer(tmp_path / "good", accounts) as good,
    ):
        operator = Options(
            servers=(good.url,), credentials=made.fleet_server.path(OPERATOR_CREDENTIALS), fixed_servers=True
        )
        host = Options(
            servers=(isolated.url, good.url),
            credentials=made.host_credentials("web1"),
            inbox_prefix="_INBOX_web1",
        )
        problems, seen = [], []
        async with connected(operator, seconds=PATIENCE) as link, trio.open_nursery() as nursery:
            js = JetStream(link, seconds=PATIENCE)
            await make_streams(js, wanted_streams())
            connection = Connection(host, on_problem=lambda error: problems.append(error.message))
            nursery.start_soon(connection.run)
            await connection.wait_up()
            seen.append(connection.status.server)
            nursery.start_soon(SimHost("web1", ["web"], ()).run, connection)
            with trio.fail_after(PATIENCE):
                async with js.key_value(STATE).watch("web1") as entries:
                    while await anext(entries) is None:
                        pass
            seen.append(connection.status.server)
            nursery.cancel_scope.cancel()
        assert seen == [isolated.url, good.url]
        assert problems == [f"the NATS server {isolated.url} stores nothing, and another one is tried"]


@pytest.fixture
def home(tmp_path):
    return make_operator_directory(str(tmp_path / "home"))


@pytest.fixture
def cluster(tmp_path, home):
    """Three servers that have the streams of a fleet."""
    with open(home.path(CONFIG)) as file:
        accounts = file.read().replace('dir: "accounts"', 'dir: "{directory}/jwt"')

    async def fill():
        async with operator_session(home.directory, seconds=PATIENCE) as js:
            js.seconds = PATIENCE
            with trio.fail_after(PATIENCE):
                while not await made(js):
                    pass

    async def made(js):
        """Whether the servers have met, and so could make the streams."""
        try:
            await make_streams(js, wanted_streams(3))
        except ApiError:
            return False
        return True

    with Cluster(tmp_path, configuration=accounts) as running:
        save_servers(home.directory, running.urls, None)
        trio.run(fill)
        yield running


async def all_have_leaders(home, urls):
    """Wait until the streams have leaders at these servers."""
    options = replace(operator_options(home.directory), servers=urls, fixed_servers=True)
    async with connected(options, seconds=PATIENCE) as connection:
        js = JetStream(connection, seconds=PATIENCE)
        for name in wanted_streams():
            while not (await js.stream_info(name))["cluster"].get("leader"):
                pass


def test_a_command_goes_to_a_server_that_has_not_lost_the_others(cluster, home, reactor, monkeypatch):
    monkeypatch.setattr(random, "shuffle", lambda _: None)  # the order of the servers
    cluster.cut_off(cluster.servers[0])
    trio.run(all_have_leaders, home, cluster.urls[1:])
    done = reactor("fleet", "status", "--home", home.directory)
    assert (done.code, done.out, done.err) == (0, "no channel has a release\n", "")


def test_who_follows_is_told_when_the_servers_lose_their_leader_and_have_one_again(
    cluster, home, monkeypatch
):
    monkeypatch.setattr(quorum, "INTERVAL", 0.1)
    send, receive = trio.open_memory_channel(10)

    async def follow():
        async with operator_session(home.directory, seconds=PATIENCE) as js, trio.open_nursery() as nursery:
            nursery.start_soon(follow_quorum, js.connection, send.send_nowait)
            here = js.connection.status.server
            others = [each for each in cluster.servers if each.url != here]
            for server in others:
                server.kill()
            with trio.fail_after(PATIENCE):
                assert await receive.receive() is False
                others[0].begin()
                assert await receive.receive() is True
            nursery.cancel_scope.cancel()

    trio.run(follow)
