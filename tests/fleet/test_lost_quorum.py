"""Two servers of three are away: every command ends and says why, and a host can be expelled all the same."""

from pathlib import Path

import pytest
import trio
from fleet_server import FleetServer
from known_fleet import remember
from nats_servers import PATIENCE, Cluster
from processes_of_cli import spawned
from signers_of_tests import new_key

from reactor.fleet.enrolment.card import Card, sign_card
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import connected
from reactor.fleet.operator.account_lookup import account_tokens
from reactor.fleet.operator.accounts import revoked_in
from reactor.fleet.operator.server_config import CONFIG, SYSTEM_CREDENTIALS, make_operator_directory
from reactor.fleet.operator.session import operator_options, operator_session, save_servers
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.wire.nkeys import Key

DOCTOR = "'reactor fleet doctor' says what is wrong with the servers"


@pytest.fixture(scope="module")
def key():
    return Key.generate("user").public


@pytest.fixture(scope="module")
def one_of_three(tmp_path_factory, key):
    """The directory of an operator whose cluster has lost two servers, and knows the host web7."""
    directory = tmp_path_factory.mktemp("lost")
    made = make_operator_directory(str(directory / "home"))
    text = Path(made.path(CONFIG)).read_text().replace('dir: "accounts"', 'dir: "{directory}/jwt"')

    async def fill():
        async with operator_session(made.directory, seconds=PATIENCE) as js:
            js.seconds = PATIENCE
            await make_streams(js, wanted_streams(3))
            card = sign_card(Card("web7", key, None, ("web",), (), 1.7e9), made.keys.cards)
            await js.key_value("reactor_hosts").put("web7", HostSpec("web7", ("web",), card=card).to_bytes())

    with Cluster(directory, configuration=text) as cluster:
        save_servers(made.directory, cluster.urls, None)
        trio.run(fill)
        for server in cluster.servers[1:]:
            server.kill()
        save_servers(made.directory, cluster.urls[:1], None)
        yield made


@pytest.mark.parametrize(
    "words",
    [
        ("events",),
        ("events", "--follow"),
        ("status", "--watch"),
        ("serve", "127.0.0.1:0"),
        ("count",),
        ("gc",),
        ("hold", "web7"),
        ("invite", "--channel", "web"),
    ],
)
def test_a_command_ends_and_says_who_knows_more(one_of_three, reactor, tmp_path, words):
    signers = tmp_path / "signers"
    signers.write_text(f"ann {Path(new_key(tmp_path, 'ann') + '.pub').read_text()}")
    more = ("--signers", signers) if words[0] == "invite" else ()
    done = reactor("fleet", *words, *more, "--home", one_of_three.directory)
    assert done.code == 1
    assert DOCTOR in done.err


def test_a_release_is_not_told_that_a_bucket_is_missing(one_of_three, reactor, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/manifest.yaml").write_text("resources: []\n")
    words = ("release", tmp_path / "site", "web", "--key", new_key(tmp_path, "ann"))
    done = reactor("fleet", *words, "--home", one_of_three.directory)
    assert done.code == 1
    assert "there is no object store" not in done.err
    assert DOCTOR in done.err


@pytest.fixture
def without_leader(one_of_three):
    """The same, once the server that is left has given up the leader."""

    async def until_it_is_given_up():
        async with operator_session(one_of_three.directory, seconds=PATIENCE) as js:
            js.seconds = PATIENCE
            while (await js.stream_info("KV_reactor_channels"))["cluster"].get("leader"):
                pass

    trio.run(until_it_is_given_up)
    return one_of_three


@pytest.mark.parametrize("words", [("status",), ("hosts",), ("failures",), ("why", "web7")])
def test_what_one_server_alone_tells_is_said_to_be_old(without_leader, reactor, words):
    done = reactor("fleet", *words, "--home", without_leader.directory)
    assert done.code == 0
    assert (
        "JetStream has no leader: the server that answers may be cut off, and its answers out of date"
        in done.err
    )


def test_the_admitting_service_says_that_it_may_hear_no_host(without_leader):
    with spawned("fleet", "admit", "--home", without_leader.directory) as process:
        assert process.stderr.readline() == b"answers hosts that ask to join\n"
        assert process.stderr.readline().startswith(b"JetStream has no leader: ")


def test_a_stream_that_can_not_be_read_is_named(without_leader, reactor):
    done = reactor("fleet", "pause", "web", "--home", without_leader.directory)
    assert done.code == 1
    assert "GET" not in done.err


def test_init_does_not_say_that_all_is_well(without_leader, reactor):
    (server,) = operator_options(without_leader.directory).servers
    done = reactor("fleet", "init", server, "--home", without_leader.directory)
    assert (done.code, done.out) == (1, "")
    assert "the stream KV_reactor_channels has no leader: most servers that have it do not answer" in done.err
    assert "start the servers that are away" in done.err


def test_an_expelled_host_is_revoked_although_nothing_can_be_stored(one_of_three, reactor, key):
    done = reactor("fleet", "expel", "--home", one_of_three.directory, "web7")
    assert done.code == 1
    assert "the keys of web7 are revoked, and what the servers store of it stays: " in done.err

    async def revoked():
        options = operator_options(one_of_three.directory, SYSTEM_CREDENTIALS)
        async with connected(options, seconds=PATIENCE) as connection:
            keys = one_of_three.keys
            tokens = await account_tokens(connection, keys.hosts.public, keys.operator.public)
            return {each for token in tokens for each in revoked_in(token)}

    assert key in trio.run(revoked)


def test_a_stream_that_is_missing_is_said_with_who_knows_more(tmp_path, reactor):
    made = FleetServer(tmp_path)
    with made.server:
        done = reactor("fleet", "hosts", "--home", remember(made))
    assert done.code == 1
    assert "hint: " in done.err
