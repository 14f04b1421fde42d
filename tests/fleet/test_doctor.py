"""`reactor fleet doctor` on real servers: what is well, and each thing that can be wrong."""

import datetime as dt
import json
import resource
import socket
import time
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import pytest
import trio
import trustme
from fleet_server import FleetServer
from known_fleet import remember
from nats_servers import PATIENCE, Cluster, NatsServer
from signers_of_tests import new_key
from turns import turns

from reactor.fleet.enrolment.card import Card, sign_card
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import NoAnswerError
from reactor.fleet.operator.account_lookup import account_tokens
from reactor.fleet.operator.accounts import operator_user, revoked_in
from reactor.fleet.operator.cluster import problem_in, usual_copies
from reactor.fleet.operator.doctor import examination
from reactor.fleet.operator.doctor.examination import examine
from reactor.fleet.operator.doctor.files import directory_checks
from reactor.fleet.operator.doctor.judgements import (
    CLOCK_LIMIT,
    certificate_check,
    clock_check,
    copies_check,
    disk_check,
    health_check,
    quorum_check,
    stream_check,
    version_check,
)
from reactor.fleet.operator.server_config import (
    ADMITTING_CREDENTIALS,
    CONFIG,
    OPERATOR_CREDENTIALS,
    SYSTEM_CREDENTIALS,
    load_operator_directory,
    make_operator_directory,
)
from reactor.fleet.operator.session import operator_options, operator_session, save_servers
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.wire.credentials import encode_credentials
from reactor.fleet.wire.nkeys import Key

INIT = "reactor fleet init URL"


@pytest.fixture(scope="module")
def signers(tmp_path_factory):
    directory = tmp_path_factory.mktemp("people")
    public = new_key(directory, "ann") + ".pub"
    (directory / "signers").write_text(f"ann {Path(public).read_text()}")
    return str(directory / "signers")


@pytest.fixture
def home(fleet):
    return remember(fleet)


@pytest.fixture
def patient(monkeypatch):
    """Let a busy machine be late. Tests that say `hurried` are about the time that all of it takes."""
    for limit in ("_ANSWER", "_REST", "_REQUEST"):
        monkeypatch.setattr(examination, limit, PATIENCE)


async def hurried(home, signers, *wrong):
    """What is wrong, found in less than 3 s: the checks in ``wrong`` and those that begin so, unless others are late."""
    for turn in turns(3):
        with turn:
            found = wrong_ones(await examine(home, signers))
        if not all(name.startswith(wrong) for name in found):
            turn.seconds = inf
    return found


@pytest.fixture
def doctor(patient, reactor, home, signers):
    def call(*more):
        return reactor("fleet", "doctor", "--home", home, "--signers", signers, *more)

    return call


def wrong_lines(done):
    return [line for line in done.out.splitlines() if not line.startswith("ok     ")]


def wrong_ones(checks):
    return {each.name: each for each in checks if not each.ok}


def test_all_is_well(doctor, fleet, home):
    done = doctor()
    assert (done.code, wrong_lines(done), done.err) == (0, [], "")
    lines = done.out.splitlines()
    assert f"ok     directory {home}" in lines
    assert f"ok     server {fleet.server.url}: nats-server 2.15.1" in lines
    for stream in wanted_streams():
        assert f"ok     stream {stream}" in lines
    for name in (
        "account HOSTS",
        "permissions of the operator",
        "user of the admitting service",
        "keys and accounts",
    ):
        assert f"ok     {name}" in lines
    assert any(line.startswith(f"ok     clock of {fleet.server.url}: differs by 0.") for line in lines)
    assert f"ok     quorum at {fleet.server.url}: one server" in lines
    assert "ok     copies: 1 of each stream, all up to date" in lines


def test_it_changes_nothing(doctor, fleet):
    async def stored():
        async with fleet.connected() as js:
            return {name: (await js.stream_info(name))["state"]["last_seq"] for name in wanted_streams()}

    before = trio.run(stored)
    doctor()
    assert trio.run(stored) == before


def test_for_programs_there_is_an_object_for_each_check(doctor):
    done = doctor("--format", "json")
    found = done.records
    assert {"ok": True, "name": "account FLEET", "seen": "", "problem": "", "hint": ""} in found
    assert all(each["ok"] for each in found)


def test_a_stream_with_other_settings_and_a_missing_one(doctor, fleet, home):
    async def spoil():
        async with fleet.connected() as js:
            name = "KV_reactor_channels"
            config = (await js.stream_info(name))["config"]
            await js.update_stream(name, {**config, "max_msgs_per_subject": 3})
            await js.delete_stream("KV_reactor_counts")

    trio.run(spoil)
    done = doctor()
    trio.run(fleet.make_streams)
    init = f"reactor fleet init {fleet.server.url} --home {home}"
    assert done.code == 1
    assert wrong_lines(done) == [
        f"wrong  stream KV_reactor_channels: max_msgs_per_subject is 3 and not 64; hint: {init}",
        f"wrong  stream KV_reactor_counts: there is no stream KV_reactor_counts; hint: {init}",
    ]
    assert doctor().code == 0


async def test_one_server_of_two_does_not_answer(fleet, home, signers):
    """It accepts the connection and says nothing, as behind a broken firewall."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"nats://127.0.0.1:{silent.getsockname()[1]}"
        save_servers(home, (url, fleet.server.url), None)
        found = await hurried(home, signers, f"server {url}")
    assert list(found) == [f"server {url}"]
    assert "no answer in time" in found[f"server {url}"].problem


@pytest.mark.usefixtures("patient")
async def test_no_server_answers(tmp_path, signers):
    made = make_operator_directory(str(tmp_path / "home"))
    save_servers(made.directory, ("nats://127.0.0.1:1",), None)
    found = wrong_ones(await examine(made.directory, signers))
    assert list(found) == ["server nats://127.0.0.1:1", "fleet"]
    assert found["server nats://127.0.0.1:1"].hint.startswith("check that nats-server runs there")


@pytest.mark.usefixtures("patient")
async def test_a_server_that_does_not_know_the_accounts(tmp_path, signers):
    made = make_operator_directory(str(tmp_path / "home"))
    with NatsServer(tmp_path / "server", "authorization { user: a, password: b }", jetstream=False) as server:
        save_servers(made.directory, (server.url,), None)
        found = wrong_ones(await examine(made.directory, signers))
    assert f"include {made.path(CONFIG)}" in found[f"server {server.url}"].hint


@pytest.mark.usefixtures("patient")
async def test_a_certificate_that_expires_soon(tmp_path, signers, reactor):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(days=3)
    issued = authority.issue_cert("localhost", not_after=soon)
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
    made = make_operator_directory(str(tmp_path / "home"))
    text = Path(made.path(CONFIG)).read_text().replace('dir: "accounts"', f'dir: "{tmp_path}/jwt"')
    tls = f'tls {{ cert_file: "{tmp_path}/certificate.pem", key_file: "{tmp_path}/key.pem" }}'
    with NatsServer(tmp_path / "server", f"{text}\n{tls}") as server:
        url = f"tls://localhost:{server.port}"
        save_servers(made.directory, (url,), str(tmp_path / "ca.pem"))
        async with operator_session(made.directory) as js:
            await make_streams(js, wanted_streams())
        found = await examine(made.directory, signers)
        status = await trio.to_thread.run_sync(reactor, "fleet", "status", "--home", made.directory)
    assert f"certificate of {url}: it expires on " in status.err
    assert list(wrong_ones(found)) == [f"certificate of {url}"]
    assert wrong_ones(found)[f"certificate of {url}"].problem.startswith("it expires on ")
    assert any(each.name == f"CA {tmp_path}/ca.pem" and each.seen.startswith("good until") for each in found)


async def test_a_server_without_jetstream_is_reported(tmp_path, signers):
    made = make_operator_directory(str(tmp_path / "home"))
    text = Path(made.path(CONFIG)).read_text().replace('dir: "accounts"', f'dir: "{tmp_path}/jwt"')
    with NatsServer(tmp_path / "server", text, jetstream=False) as server:
        save_servers(made.directory, (server.url,), None)
        for turn in turns(3):
            with turn:
                found = wrong_ones(await examine(made.directory, signers))
    assert found[f"JetStream of {server.url}"].problem == "it is off"
    assert "streams" in found


@pytest.mark.usefixtures("patient")
async def test_a_server_that_takes_only_small_messages_and_a_stream_that_is_full(tmp_path, signers):
    fleet = FleetServer(tmp_path)
    fleet.server._file.write_text(fleet.server._file.read_text() + "max_payload: 64KB\n")
    with fleet.server:
        await fleet.make_streams()
        async with fleet.connected() as js:
            config = (await js.stream_info("KV_reactor_hosts"))["config"]
            await js.update_stream("KV_reactor_hosts", {**config, "max_bytes": 1000})
            await js.key_value("reactor_hosts").put("web1", b"x" * 880)
        found = wrong_ones(await examine(remember(fleet), signers))
    assert found.keys() == {f"messages of {fleet.server.url}", "room"}
    assert "at most 65536 bytes" in found[f"messages of {fleet.server.url}"].problem
    assert found["room"].problem.startswith("KV_reactor_hosts has 9")
    assert "nats stream edit" in found["room"].hint


@pytest.mark.usefixtures("patient")
async def test_a_server_whose_disk_takes_no_more_although_its_limit_is_far(tmp_path, signers):
    fleet = FleetServer(tmp_path)
    with fleet.server:
        await fleet.make_streams()
        resource.prlimit(fleet.server.pid, resource.RLIMIT_FSIZE, (4096, 4096))  # stands in for a full disk
        async with fleet.connected() as js:
            with pytest.raises(NoAnswerError):
                await JetStreamApi(js.connection, seconds=0.5).publish("reactor.event.web1", b"x" * 8192)
        found = wrong_ones(await examine(remember(fleet), signers))
    assert list(found) == [f"health of {fleet.server.url}"]
    assert "REACTOR_EVENTS' write error: " in found[f"health of {fleet.server.url}"].problem


@pytest.mark.usefixtures("patient")
async def test_files_that_others_may_read_or_that_are_away(tmp_path, signers, fleet):
    made = make_operator_directory(str(tmp_path / "home"))
    save_servers(made.directory, ("nats://127.0.0.1:1",), None)
    (tmp_path / "home/keys.json").chmod(0o644)
    (tmp_path / "home").chmod(0o755)
    (tmp_path / "home/admit.creds").unlink()
    found = wrong_ones(await examine(made.directory, str(tmp_path / "none")))
    assert found[f"file {made.directory}/keys.json"].problem == "other users may use it: mode 0644"
    assert found[f"file {made.directory}/keys.json"].hint == f"chmod go= {made.directory}/keys.json"
    assert found[f"directory {made.directory}"].problem == "other users may use it: mode 0755"
    assert found[f"file {made.directory}/admit.creds"].problem == "No such file or directory"
    assert "can't read" in found[f"signers {tmp_path}/none"].problem
    assert found[f"signers {tmp_path}/none"].hint.startswith("write a line NAME ssh-ed25519 KEY")
    made_again = make_operator_directory(str(tmp_path / "home"))
    (tmp_path / "home/accounts.conf").write_text("other")
    found = wrong_ones(await examine(made_again.directory, signers))
    assert found["keys and accounts"].problem == (
        "the accounts are not as this version of reactor makes them"
    )


@pytest.mark.parametrize(("ago", "words"), [(70, None), (80, "they expire on "), (91, "they expired on ")])
def test_credentials_that_expire_soon(tmp_path, monkeypatch, ago, words):
    """They are good for 90 days."""
    directory = str(tmp_path / "home")
    then = time.time() - ago * 86_400
    with monkeypatch.context() as past:
        past.setattr(time, "time", lambda: then)
        make_operator_directory(directory, 90 * 86_400)
    found = {each.name: each for each in directory_checks(directory, INIT)}
    for name in (OPERATOR_CREDENTIALS, SYSTEM_CREDENTIALS, ADMITTING_CREDENTIALS):
        check = found[f"credentials {directory}/{name}"]
        assert check.problem.startswith(words) if words else check.seen.startswith("good until ")
        assert words is None or check.hint == f"renew them: {INIT}"


@pytest.fixture
def spoiled(home):
    """Write files of the directory of the operator; they are as before afterwards."""
    before = {}

    def write(name, data):
        path = Path(home, name)
        before.setdefault(path, path.read_bytes())
        path.write_bytes(data)

    yield write
    for path, data in before.items():
        path.write_bytes(data)


@pytest.mark.usefixtures("patient")
async def test_servers_that_have_other_accounts(home, signers, spoiled):
    tokens = json.loads(Path(home, "accounts.json").read_bytes())
    spoiled("accounts.json", json.dumps({**tokens, "HOSTS": tokens["FLEET"]}).encode())
    found = wrong_ones(await examine(home, signers))
    assert list(found) == ["keys and accounts", "account HOSTS"]
    assert found["account HOSTS"].problem == "a server has another version of it than this directory"


@pytest.mark.usefixtures("patient")
async def test_an_operator_whose_credentials_have_expired_needs_no_other_accounts(home, signers, spoiled):
    user = operator_user(load_operator_directory(home).keys, "operator", "fleet", int(time.time()) - 60)
    spoiled(OPERATOR_CREDENTIALS, encode_credentials(user).encode())
    found = wrong_ones(await examine(home, signers))
    (server,) = (check for name, check in found.items() if name.startswith("server "))
    assert server.hint.startswith("renew them with reactor fleet init")


@pytest.mark.usefixtures("patient")
async def test_a_user_that_may_not_write(home, signers, spoiled):
    """The admitting service may write two buckets: it is no operator."""
    spoiled(OPERATOR_CREDENTIALS, Path(home, "admit.creds").read_bytes())
    denied = wrong_ones(await examine(home, signers))["permissions of the operator"].problem
    assert "$KV.reactor_channels.doctor" in denied
    assert "$JS.API.DIRECT.GET.KV_reactor_state" in denied
    assert "$KV.reactor_hosts.doctor" not in denied


# --- what is judged by values


@pytest.mark.parametrize("version", ["2.9.10", "2.10.27", "1.4.0", "v2.9.10"])
def test_an_old_server_is_too_old(version):
    """Debian 12 has 2.9.10."""
    found = version_check("server", version)
    assert found.problem == f"nats-server {version} is too old: leases need 2.11 or later"
    assert found.hint.startswith("install 2.11 or later")


@pytest.mark.parametrize("version", ["2.11.0", "2.15.1", "2.12.0-RC.1", "3.0.0"])
def test_a_new_server_is_new_enough(version):
    assert version_check("server", version).ok


def test_an_unknown_version_is_wrong():
    assert not version_check("server", "").ok


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (600, "the clock of this machine is 600 s behind that of the server"),
        (-600, "the clock of this machine is 600 s ahead of that of the server"),
        (CLOCK_LIMIT + 0.6, "the clock of this machine is 6 s behind that of the server"),
    ],
)
def test_a_wrong_clock_is_a_problem_and_the_hint_names_ntp(ahead, words):
    found = clock_check("clock", ahead)
    assert found.problem == words
    assert "NTP" in found.hint


@pytest.mark.parametrize("ahead", [0, CLOCK_LIMIT, -CLOCK_LIMIT])
def test_a_clock_within_the_limit_is_no_problem(ahead):
    assert clock_check("clock", ahead).ok


def test_a_certificate_that_expires_soon_or_has_expired_is_a_problem():
    now = dt.datetime(2026, 11, 24, tzinfo=dt.UTC).timestamp()
    assert certificate_check("c", "Dec 24 00:00:00 2026 GMT", now).ok
    soon = certificate_check("c", "Dec  1 00:00:00 2026 GMT", now)
    assert soon.problem == "it expires on Dec  1 00:00:00 2026 GMT"
    assert certificate_check("c", "Nov 23 00:00:00 2026 GMT", now).problem.startswith("it expired on")


def information(replicas, *peers, leader="n1", **fields):
    config = {**wanted_streams(replicas)["KV_reactor_hosts"], **fields}
    return {"config": config, "cluster": {"leader": leader, "replicas": list(peers)}}


def peer(name, **fields):
    return {"name": name, "current": True, **fields}


def test_a_disk_that_is_full():
    assert disk_check("room", 90, 100).problem.startswith("its streams have 90 of at most 100 bytes")
    assert "reactor fleet gc" in disk_check("room", 100, 100).hint
    assert disk_check("room", 89, 100) is None
    assert disk_check("room", 0, 0) is None


@pytest.mark.parametrize(
    ("stream", "problem"), [(".KV_a", ""), ("KV_a", "JetStream stream 'A > KV_a' could not be recovered")]
)
def test_a_stream_that_a_server_is_still_deleting_is_no_problem(stream, problem):
    """nats-server moves its directory away under a name with a dot, and its check of health meets that."""
    assert problem_in({"error": f"JetStream stream 'A > {stream}' could not be recovered"}) == problem


def test_a_file_system_that_is_full_needs_room_and_a_restart():
    assert health_check("health", "") is None
    assert health_check("health", "write x: no space left on device").hint == (
        "make room on the disk of store_dir, and start the server again"
    )
    assert health_check("health", "write x: input/output error").hint == "see the log of the server"


def test_a_stream_without_its_copies_is_a_problem_that_names_the_servers():
    whole = information(3, peer("n2"), peer("n3"))
    assert copies_check({"s": whole}, 3, INIT).ok
    one_away = information(3, peer("n2"), peer("n3", offline=True))
    assert copies_check({"s": one_away}, 3, INIT).problem == "copies are away or behind: n3"
    weak = information(3, peer("n2", offline=True), peer("n3", current=False))
    assert copies_check({"s": weak}, 3, INIT).problem == "most copies of s do not answer: n2, n3"
    assert not copies_check({"s": information(3, leader="")}, 3, INIT).ok
    single = copies_check({"s": information(1)}, 3, INIT)
    assert single.hint == f"{INIT} --replicas 3"
    assert copies_check({"s": information(1)}, 1, INIT).ok


def test_servers_without_a_majority_are_a_problem():
    assert quorum_check("q", None).ok
    assert quorum_check("q", {"leader": "n2", "cluster_size": 3}).seen == "3 servers, n2 leads"
    away = {
        "leader": "n1",
        "cluster_size": 3,
        "replicas": [peer("n2", offline=True), peer("n3", offline=True)],
    }
    assert quorum_check("q", away).problem == "2 of 3 servers are away: n2, n3"
    assert quorum_check("q", {**away, "replicas": [peer("n2"), peer("n3", offline=True)]}).ok
    assert "more than half of its 3 servers" in quorum_check("q", {"leader": "", "cluster_size": 3}).problem


def test_a_registry_that_publishers_of_ccm_can_write_is_what_people_chose():
    config = wanted_streams(ccm_publishers=True)["REGISTRATION"]
    found = stream_check("REGISTRATION", {"config": config}, INIT)
    assert found.ok
    assert "wipe the registry" in found.seen


# --- three servers


def repeated(command, is_good):
    """Run a command until its result is good, for on a busy machine a server may be too late for it; return the last."""
    until = time.monotonic() + PATIENCE
    while not is_good(done := command()) and time.monotonic() < until:
        pass
    return done


@pytest.fixture
def brief(monkeypatch):
    """Let commands wait a second for the answer of a server that was killed, instead of three."""
    for module in ("account_lookup", "account_update"):
        monkeypatch.setattr(f"reactor.fleet.operator.{module}.PATIENCE", 1.0)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """The directory of an operator, and a cluster of three with its accounts and streams.

    On a busy machine a new cluster takes its time: longer than commands wait.
    """
    directory = tmp_path_factory.mktemp("three")
    made = make_operator_directory(str(directory / "home"))
    text = Path(made.path(CONFIG)).read_text().replace('dir: "accounts"', 'dir: "{directory}/jwt"')
    text = text.replace('interval: "2m"', 'interval: "1s"')  # after which servers compare their accounts
    with Cluster(directory, configuration=text) as cluster:
        save_servers(made.directory, cluster.urls, None)

        async def fill():
            async with operator_session(made.directory, seconds=PATIENCE) as js:
                js.seconds = PATIENCE
                await js.call("INFO")
                changes = await make_streams(js, wanted_streams(await usual_copies(js, made.directory)))
                assert [each.stream for each in changes] == list(wanted_streams())

        trio.run(fill)
        yield made.directory, cluster


def test_streams_on_three_servers_have_three_copies_and_init_changes_nothing(three, reactor):
    home, cluster = three

    async def copies():
        async with operator_session(home, seconds=PATIENCE) as js:
            js.seconds = PATIENCE
            return {(await js.stream_info(name))["config"]["num_replicas"] for name in wanted_streams()}

    assert trio.run(copies) == {3}
    for more in ((), ("--replicas", "3")):
        init = partial(reactor, "fleet", "init", "--home", home, *cluster.urls, *more)
        again = repeated(init, lambda done: done.code == 0)
        assert (again.code, again.out) == (0, "all is as it should be\n")
    assert trio.run(copies) == {3}


@pytest.mark.usefixtures("patient", "brief")
async def test_three_servers_are_well_until_one_is_killed(three, signers):
    home, cluster = three
    until = trio.current_time() + PATIENCE  # a server may be behind for a moment
    while wrong_ones(found := await examine(home, signers)) and trio.current_time() < until:
        await trio.lowlevel.checkpoint()
    assert wrong_ones(found) == {}
    names = {each.name: each.seen for each in found}
    assert names["copies"] == "3 of each stream, all up to date"
    assert names[f"quorum at {cluster.urls[0]}"].startswith("3 servers, n")
    cluster.servers[2].kill()
    lost = wrong_ones(await examine(home, signers))
    assert f"server {cluster.servers[2].url}" in lost
    assert f"server {cluster.servers[0].url}" not in lost


@pytest.mark.usefixtures("brief")
def test_expel_says_which_of_three_servers_have_confirmed_it(three, reactor):
    """The last of them was killed before; then it is back, and takes the revocation from the others."""
    home, cluster = three
    cluster.servers[2].kill()
    files = load_operator_directory(home)
    key = Key.generate("user").public

    async def admitted():
        async with operator_session(home, seconds=PATIENCE) as js:
            js.seconds = PATIENCE
            for name in wanted_streams():
                # The stream answers once it has a leader other than the killed server.
                await js.stream_info(name)
            card = sign_card(Card("web7", key, None, ("web",), (), 1.7e9), files.keys.cards)
            await js.key_value("reactor_hosts").put("web7", HostSpec("web7", ("web",), card=card).to_bytes())

    trio.run(admitted)
    expel = partial(reactor, "fleet", "expel", "--home", home, "web7")
    done = repeated(expel, lambda done: "n0, n1" in done.out)
    assert (done.code, done.out) == (1, "expelled web7: its keys are revoked on n0, n1\n")
    assert "not confirmed by n2: there, web7 may still be connected" in done.err
    cluster.servers[2].start()

    async def revoked_on_the_third():
        options = operator_options(home, SYSTEM_CREDENTIALS)
        own = replace(options, servers=(cluster.urls[2],), fixed_servers=True)
        async with connected(own, seconds=PATIENCE) as connection:
            while True:
                tokens = await account_tokens(connection, files.keys.hosts.public, files.keys.operator.public)
                if len(tokens) == 1 and key in revoked_in(tokens[0]):
                    return
                await trio.sleep(0.05)

    trio.run(revoked_on_the_third)
    done = repeated(expel, lambda done: done.code == 0)
    assert (done.code, done.out) == (0, "expelled web7: its keys are revoked on n0, n1, n2\n")
