"""Servers that store nothing: one of a cluster, which passes on what is asked, and a leaf node, which does not."""

import pytest
import trio
from nats_servers import PATIENCE, NatsServer
from ports import free_port, free_ports
from signers_of_tests import new_key, public

from reactor.fleet.link.errors import ApiError
from reactor.fleet.operator import cluster
from reactor.fleet.operator.doctor import examination
from reactor.fleet.operator.doctor.examination import examine
from reactor.fleet.operator.server_config import CONFIG, SYSTEM_CREDENTIALS, make_operator_directory
from reactor.fleet.operator.session import operator_options, operator_session, save_servers
from reactor.fleet.operator.streams import make_streams, wanted_streams

WHOLE = 8.0
"""Seconds for each check."""


@pytest.fixture
def home(tmp_path):
    return make_operator_directory(str(tmp_path / "home"))


@pytest.fixture
def accounts(home):
    with open(home.path(CONFIG)) as file:
        return file.read().replace('dir: "accounts"', 'dir: "{directory}/jwt"')


@pytest.fixture
def signers(tmp_path):
    (tmp_path / "signers").write_text(f"ann {public(new_key(tmp_path, 'ann'))}\n")
    return str(tmp_path / "signers")


@pytest.fixture
def patient(monkeypatch):
    """Let a busy machine be late. What a leaf node does not pass on is waited for to the end."""
    for limit, seconds in (("_ANSWER", PATIENCE), ("_REST", WHOLE), ("_REQUEST", WHOLE)):
        monkeypatch.setattr(examination, limit, seconds)


async def streams_made(home):
    """Make the streams as soon as the servers have met."""
    async with operator_session(home.directory, seconds=PATIENCE) as js:
        js.seconds = PATIENCE
        with trio.fail_after(PATIENCE):
            while True:
                try:
                    copies = await cluster.usual_copies(js, home.directory)
                    return await make_streams(js, wanted_streams(copies))
                except ApiError:
                    continue


@pytest.fixture
def four(tmp_path, accounts):
    """A cluster of three, and a fourth server of it, which is the last, without JetStream."""
    routes = free_ports(4)
    told = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
    servers = [
        NatsServer(
            tmp_path / f"n{number}",
            f'cluster {{ name: c, listen: "127.0.0.1:{route}", routes: [{told}] }}\n{accounts}',
            name=f"n{number}",
            jetstream=number < 3,
        )
        for number, route in enumerate(routes)
    ]
    for server in servers:
        server.begin()
    for server in servers:
        server.ready()
    yield servers
    for server in servers:
        server.kill()


@pytest.mark.usefixtures("patient")
async def test_through_a_server_of_a_cluster_that_stores_nothing_all_is_as_through_another(
    four, home, signers
):
    save_servers(home.directory, (four[-1].url,), None)
    await streams_made(home)
    async with operator_session(home.directory, seconds=PATIENCE) as js:
        assert (await js.stream_info("KV_reactor_hosts"))["config"]["num_replicas"] == 3
    found = {each.name: each for each in await examine(home.directory, signers)}
    assert found[f"JetStream of {four[-1].url}"].seen == "it is off, and another server of the cluster has it"
    assert f"quorum at {four[-1].url}" not in found
    assert found["copies"].seen.startswith("3 of each stream")


@pytest.mark.usefixtures("patient")
async def test_a_leaf_node_is_said_to_pass_on_nothing(tmp_path, home, accounts, signers):
    port = free_port()
    remote = f'{{ url: "nats://127.0.0.1:{port}", account: {home.keys.fleet.public}, credentials: "{home.path("operator.creds")}" }}'
    listens, joins = f'leafnodes {{ listen: "127.0.0.1:{port}" }}', f"leafnodes {{ remotes: [{remote}] }}"
    with (
        NatsServer(tmp_path / "hub", f"{listens}\n{accounts}", name="hub") as hub,
        NatsServer(tmp_path / "leaf", f"{joins}\n{accounts}", name="leaf", jetstream=False) as leaf,
    ):
        save_servers(home.directory, (hub.url,), None)
        await streams_made(home)
        save_servers(home.directory, (leaf.url,), None)
        await until_it_is_a_leaf(home)
        found = {each.name: each for each in await examine(home.directory, signers)}
    assert found[f"JetStream of {leaf.url}"].problem.startswith("it is a leaf node: ")
    assert "servers of the cluster" in found[f"JetStream of {leaf.url}"].hint


async def until_it_is_a_leaf(home):
    options = operator_options(home.directory, SYSTEM_CREDENTIALS)
    async with cluster.connected(options, seconds=PATIENCE) as connection:
        with trio.fail_after(PATIENCE):
            while not await cluster.is_leaf_node(connection, "PING"):
                pass
