"""The commands of enrolment on a real server, as people type them."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nats_servers import PATIENCE, NatsServer
from ports import free_port
from signers_of_tests import new_key, public

from reactor.fleet.operator.doctor import examination


class World:
    """A server, the directory of the operator and one of the admitting service, and hosts below ``hosts``."""

    def __init__(self, directory):
        self.directory = directory
        self.port = free_port()
        self.home = directory / "home"
        self.signers = directory / "signers"
        self.signers.write_text(f"ann {public(new_key(directory, 'ann'))}\n")

    def config(self, name):
        return self.directory / "hosts" / name / "fleet.yaml"

    def started(self, *words):
        """A command that goes on."""
        return subprocess.Popen(
            [sys.executable, "-m", "reactor", "fleet", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("fleet"))
    url = f"nats://127.0.0.1:{made.port}"
    init = [sys.executable, "-m", "reactor", "fleet", "init", url, "--home", made.home]
    assert subprocess.run(init, check=False, capture_output=True).returncode == 1
    text = (made.home / "accounts.conf").read_text()
    server = NatsServer(
        made.directory / "server", text.replace('dir: "accounts"', f'dir: "{made.directory}/jwt"')
    )
    server.port = made.port
    with server:
        subprocess.run(init, check=True, capture_output=True)
        yield made


@pytest.fixture
def token(world, reactor):
    def make(*words):
        done = reactor(
            "fleet", "invite", "--home", world.home, "--signers", world.signers, "--channel", "web", *words
        )
        assert done.code == 0, done.err
        assert "it is a secret" in done.err
        assert len(done.out.split()) == 1
        return done.out.strip()

    return make


@pytest.fixture
def service(world, tmp_path, monkeypatch):
    """The service, with the three files that it needs and no others. It may be late: a host that asks twice gets two answers."""
    monkeypatch.setattr("reactor.fleet.host.join._AGAIN", PATIENCE)
    home = tmp_path / "admitting"
    home.mkdir()
    for name in ("admit.json", "admit.creds", "servers.json"):
        (home / name).write_bytes((world.home / name).read_bytes())
    process = world.started("admit", "--home", home)
    assert process.stdout.readline() == "answers hosts that ask to join\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_host_joins_with_a_token_and_is_expelled(world, token, service, reactor, monkeypatch):
    config = world.config("web7")
    done = reactor("fleet", "join", token("--group", "eu"), "--name", "web7", "--config", config)
    assert done.code == 0, done.err
    place = config.parent
    assert done.out.splitlines() == [
        "joined as web7: channels web, groups eu",
        *(
            f"wrote {place}/{name}"
            for name in ("fleet-signers", "fleet-card.json", "fleet.creds", "fleet-age.key", "fleet.yaml")
        ),
    ]
    assert service.stdout.readline() == "admitted web7\n"
    done = reactor("fleet", "follow", "--check", "--config", config)
    assert done.out == f"web7 follows web on nats://127.0.0.1:{world.port}\n"

    again = reactor("fleet", "join", token(), "--name", "web8", "--config", config)
    assert (
        again.code,
        f"this host is web7 already\nhint: join as web7, or remove {config}" in again.err,
    ) == (
        1,
        True,
    )
    other = reactor("fleet", "join", token(), "--name", "web7", "--config", world.config("thief"))
    assert other.code == 1
    assert "error[R1022]: there is a host web7 with other keys\nhint: give another --name" in other.err
    assert service.stdout.readline() == "refused web7: there is a host web7 with other keys\n"

    assert (
        reactor("fleet", "expel", "--home", world.home, "web7").out
        == "expelled web7: its keys are revoked on one\n"
    )
    for words in (("hold", "web7"), ("free", "web7")):
        done = reactor("fleet", *words, "--home", world.home)
        assert (done.code, done.out) == (1, "")
        assert "the host web7 was expelled\nhint: to let it join again: " in done.err
    done = reactor("fleet", "join", token(), "--name", "web7", "--config", world.config("web7-anew"))
    assert (
        "the host web7 was expelled\nhint: to let it join again: reactor fleet expel web7 --rekey" in done.err
    )
    done = reactor("fleet", "expel", "--home", world.home, "web7", "--rekey")
    assert done.out == "expelled web7: its keys are revoked on one; it may join again with new keys\n"
    join = ("fleet", "join", token("--uses", "2"), "--name", "web7", "--config", world.config("web7-anew"))
    for restart in (False, True):
        done = reactor(*join)
        assert done.code == 0, done.err
        assert ("'reactor fleet follow' that goes on here must be started again" in done.err) is restart
    done = reactor("fleet", "expel", "--home", world.home, "nobody")
    assert (done.code, "error[R1022]: there is no host nobody" in done.err) == (1, True)

    for limit in ("_ANSWER", "_REST", "_REQUEST"):
        monkeypatch.setattr(examination, limit, PATIENCE)
    doctor = ("fleet", "doctor", "--home", world.home, "--signers", world.signers)
    assert "ok     service that admits hosts\n" in reactor(*doctor).out
    service.send_signal(signal.SIGTERM)
    assert service.wait(PATIENCE) == 0
    assert "wrong  service that admits hosts: none answers, " in reactor(*doctor).out
    assert "refused a request" not in service.stdout.read()


def test_a_host_that_waits_is_listed_and_admitted_by_hand(world, token, reactor):
    joins = world.started("join", token(), "--name", "web5", "--config", world.config("web5"))
    assert joins.stdout.readline() == "web5 waits to be admitted\n"
    done = reactor("fleet", "admit", "--home", world.home, "--list")
    assert done.code == 0, done.err
    assert done.out.startswith("web5: channels web; hostname ")
    assert not world.config("web5").exists()
    assert reactor("fleet", "admit", "--home", world.home, "web5").out == "admitted web5\n"
    assert joins.wait(PATIENCE) == 0
    joins.stdout.close()
    assert world.config("web5").exists()
    assert reactor("fleet", "admit", "--home", world.home, "--list").out == "no host waits to be admitted\n"
    done = reactor("fleet", "admit", "--home", world.home, "web6")
    assert (done.code, "no host web6 asks to join with a token of this fleet" in done.err) == (1, True)


def test_a_withdrawn_token_admits_nobody(world, token, service, reactor):
    text = token()
    (name,) = json.loads(decoded(text)["invitation"])["id"].split()
    done = reactor("fleet", "invite", "--home", world.home, "--withdraw", name)
    assert done.out == f"no host can join with the token {name} any more\n"
    done = reactor("fleet", "join", text, "--name", "web4", "--config", world.config("web4"))
    assert (done.code, "error[R1022]: the token was withdrawn" in done.err) == (1, True)
    done = reactor("fleet", "invite", "--home", world.home, "--withdraw", name)
    assert (done.code, f"there is no token {name}" in done.err) == (1, True)


def test_a_token_that_has_expired_by_the_clock_of_the_host_is_no_matter_of_credentials(
    world, token, reactor, monkeypatch
):
    text, now = token(), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7200)
    done = reactor("fleet", "join", text, "--name", "web4", "--config", world.config("web4"))
    assert done.code == 1
    assert done.err == (
        "error[R0903]: the token has expired, or the clock of this host is wrong\n"
        "hint: make a new one: reactor fleet invite; and check the clock of this host\n"
    )


def decoded(token):
    body = token.partition(".")[2]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("invite",), "missing option --channel"),
        (("invite", "--channel", "a.b"), "'a.b' is not a valid name"),
        (("invite", "--channel", "web", "--for", "1y"), "it must be from 1 second to 30 days"),
        (("invite", "--channel", "web", "--require", "2"), "names 1 people, and 2 must sign"),
        (("admit", "web7", "-o", "x"), "-o needs a HOST and --channel"),
        (("admit", "--channel", "web"), "--channel and --group are for -o"),
    ],
)
def test_what_is_written_wrong_is_bad_usage(world, reactor, words, said):
    more = ("--signers", world.signers) if words[0] == "invite" else ()
    done = reactor("fleet", words[0], "--home", world.home, *more, *words[1:])
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("join", "evil"), "error[R1021]: this is not a token of reactor fleet invite"),
        (("join", "reactor-join-1.x"), "error[R1021]: the token is damaged"),
    ],
)
def test_a_text_that_is_no_token_is_bad_usage(reactor, tmp_path, words, said):
    done = reactor("fleet", *words, "--config", tmp_path / "fleet.yaml")
    assert (done.code, said in done.err) == (2, True)
    assert os.listdir(tmp_path) == []


def test_a_service_without_its_keys_says_where_they_are_made(world, reactor, tmp_path):
    for name in ("admit.creds", "servers.json"):
        Path(tmp_path, name).write_bytes((world.home / name).read_bytes())
    done = reactor("fleet", "admit", "--home", tmp_path)
    assert done.code == 1
    assert f"there is no {tmp_path}/admit.json\nhint: make it where the keys of the operator are" in done.err
