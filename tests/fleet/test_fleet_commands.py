"""The commands of operators, on a real server: from nothing to a release and back."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from nats_servers import PATIENCE, NatsServer
from ports import free_port
from processes_of_cli import spawned
from signers_of_tests import new_key

from reactor.fleet.enrolment.card import SignedCard
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.credentials_life import life_of
from reactor.fleet.operator.session import operator_options, operator_session, save_servers

MANIFEST = "resources:\n  - exec: { name: nothing, command: 'true', refreshonly: true }\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fleet")


@pytest.fixture(scope="module")
def url():
    return f"nats://127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def server(place, url):
    """A server that includes what init wrote; it is started by the first test that needs it."""
    made = []

    def start():
        text = (place / "home/accounts.conf").read_text().replace('dir: "accounts"', f'dir: "{place}/jwt"')
        made.append(NatsServer(place / "server", text))
        made[0].port = int(url.rpartition(":")[2])
        made[0].start()
        return made[0]

    yield start
    for each in made:
        each.kill()


@pytest.fixture
def fleet(reactor, place):
    def call(*words):
        return reactor("fleet", words[0], "--home", str(place / "home"), *words[1:])

    return call


def test_a_library_of_the_extra_that_is_missing_is_named_with_how_to_install_it(
    reactor, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    done = reactor("fleet", "init", "--home", str(tmp_path / "home"), "nats://127.0.0.1:1")
    assert done.code == 2
    assert done.err.splitlines() == [
        "error[R0703]: the library cryptography is not installed",
        f"hint: install it with those of the extra 'fleet': {sys.executable} -m pip install 'reactor-converge[fleet]'",
    ]


def test_init_says_what_to_do_while_the_servers_do_not_know_the_accounts(fleet, place, url):
    done = fleet("init", url)
    assert done.code == 1
    assert done.out.splitlines() == [
        f"wrote {place}/home/{name}"
        for name in (
            "keys.json",
            "accounts.json",
            "operator.creds",
            "system.creds",
            "admit.creds",
            "accounts.conf",
            "admit.json",
            "servers.json",
        )
    ]
    assert "error[R0901]: can't reach the NATS server" in done.err
    assert f"hint: include {place}/home/accounts.conf in the configuration of each nats-server" in done.err


def test_init_refuses_what_is_no_url_before_it_writes_anything(reactor, tmp_path):
    done = reactor("fleet", "init", "--home", tmp_path / "new", "http://127.0.0.1:4222")
    assert (done.code, done.out) == (2, "")
    assert "error[R0905]: the URL of a NATS server has no host, or an unknown scheme: 'http'" in done.err
    assert not (tmp_path / "new").exists()


def test_init_says_to_include_the_accounts_when_the_server_has_none(reactor, tmp_path):
    with NatsServer(tmp_path / "plain") as plain:
        for words in (
            ("init", "--home", tmp_path / "new", plain.url),
            ("status", "--home", tmp_path / "new"),
        ):
            done = reactor("fleet", *words)
            assert (done.code, "takes no keys" in done.err) == (1, True)
            assert (
                f"hint: include {tmp_path}/new/accounts.conf in the configuration of this server" in done.err
            )


def test_init_keeps_the_authority_that_it_was_given(tmp_path):
    assert save_servers(str(tmp_path), ["tls://one"], "/etc/ca.pem")
    assert save_servers(str(tmp_path), ["tls://two"], None)
    assert not save_servers(str(tmp_path), ["tls://two"], None)
    assert operator_options(str(tmp_path)).ca == "/etc/ca.pem"


def test_a_backup_of_the_directory_of_an_operator_has_the_authority(tmp_path, reactor):
    (tmp_path / "laptop.pem").write_text("the authority")
    home, url = tmp_path / "home", "tls://127.0.0.1:1"
    done = reactor("fleet", "init", url, "--home", home, "--ca", tmp_path / "laptop.pem")
    assert f"wrote {home}/ca.pem\nwrote {home}/servers.json\n" in done.out
    again = reactor("fleet", "init", url, "--home", home, "--ca", tmp_path / "laptop.pem")
    assert "wrote" not in again.out
    restored = home.rename(tmp_path / "restored")
    (tmp_path / "laptop.pem").unlink()
    assert Path(operator_options(str(restored)).ca).read_text() == "the authority"


def test_init_makes_the_streams_and_again_changes_nothing(fleet, server, url):
    server()
    done = fleet("init", url)
    assert done.code == 0, done.err
    assert "made the stream KV_reactor_channels\n" in done.out
    assert "wrote" not in done.out
    assert fleet("init", url).out == "all is as it should be\n"

    done = fleet("init", url, "--ccm-publishers")
    assert done.out == "made the stream REGISTRATION\n"
    assert "any host that registers can wipe the registry" in done.err
    assert fleet("init", url).out == "all is as it should be\n", "without the option it stays"
    assert fleet("init", url, "--no-ccm-publishers").out == "made the stream REGISTRATION\n"
    assert fleet("init", url).out == "all is as it should be\n"


def test_without_a_release_there_is_nothing_to_see(fleet):
    assert fleet("status").out == "no channel has a release\n"
    for words in (("rollout", "web"), ("pause", "web")):
        done = fleet(*words)
        assert (done.code, done.out) == (1, "")
        assert "error[R1003]: the channel web has no release" in done.err


def test_driving_a_channel_without_a_release_ends_only_when_it_is_asked_to_end(fleet, place):
    done = fleet("drive", "web", "--until-ended")
    assert (done.code, done.out) == (1, "")
    assert "error[R1003]: the channel web has no release" in done.err

    with spawned("fleet", "drive", "--home", place / "home", "db") as driver:
        assert driver.stderr.readline() == b"db has no release yet\n"
        driver.terminate()
        assert driver.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def site(place):
    (place / "site").mkdir()
    (place / "site/manifest.yaml").write_text(MANIFEST)
    return str(place / "site")


@pytest.fixture(scope="module")
def key(place):
    return new_key(place, "ann")


def test_a_manifest_that_is_not_valid_is_not_released(fleet, place, key):
    (place / "bad").mkdir()
    (place / "bad/manifest.yaml").write_text("resources:\n  - fiel: {}\n")
    done = fleet("release", str(place / "bad"), "web", "--key", key)
    assert done.code == 2
    assert "error[R0107]" in done.err
    assert fleet("status").out == "no channel has a release\n"


def test_it_is_packed_when_it_is_valid_with_each_set_of_facts(fleet, reactor, tmp_path):
    text = "resources:\n  - file: [/etc/motd: {ensure: present, content: '{{ Facts.site.name }}', owner: root, group: root, mode: '0644'}]\n"
    (tmp_path / "manifest.yaml").write_text(text)
    assert "Facts.site" in reactor("fleet", "pack", tmp_path).err
    (tmp_path / "fleet-tests").mkdir()
    (tmp_path / "fleet-tests/web.yaml").write_text("site: {name: web}\n")
    assert reactor("fleet", "pack", tmp_path).code == 0
    (tmp_path / "fleet-tests/db.yaml").write_text("role: db\n")
    done = reactor("fleet", "pack", tmp_path)
    assert done.code == 2
    assert f"the manifest is not valid with the facts in {tmp_path}/fleet-tests/db.yaml" in done.err


def test_the_facts_that_only_a_host_of_the_fleet_has_are_there_when_it_is_packed(reactor, tmp_path):
    text = (
        "resources:\n  - exec: { name: '{{ Facts.fleet.id }} {{ Facts.fleet.serial }}', command: 'true' }\n"
    )
    (tmp_path / "manifest.yaml").write_text(text)
    assert reactor("fleet", "pack", tmp_path).code == 0
    (tmp_path / "fleet-tests").mkdir()
    (tmp_path / "fleet-tests/web.yaml").write_text("role: web\n")
    assert reactor("fleet", "pack", tmp_path).code == 0
    (tmp_path / "fleet-tests/old.yaml").write_text("fleet: {id: web1}\n")
    assert "Facts.fleet has no key 'serial'" in reactor("fleet", "pack", tmp_path).err


def test_a_bundle_may_be_larger_only_when_asked(reactor, tmp_path):
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    (tmp_path / "large").write_bytes(os.urandom(3000))
    done = reactor("fleet", "pack", "--max-size", "2KiB", tmp_path)
    assert (done.code, "at most 2 KiB are allowed" in done.err) == (2, True), done.err
    assert "or raise --max-size" in done.err
    assert reactor("fleet", "pack", "--max-size", "4k", tmp_path).code == 0
    assert reactor("fleet", "pack", "--max-size", "large", tmp_path).code == 2


def test_a_release_is_foreseen_begun_driven_and_rolled_back(fleet, site, key, place):
    done = fleet("release", site, "web", "--dry-run", "--waves", "10%,100%")
    assert re.match(
        r"release 1 of web: sha256-\w{64}, \d+ bytes\nwave 10 %: no further host\nwave 100 %: ", done.out
    )
    assert fleet("status").out == "no channel has a release\n"

    done = fleet(
        "release", site, "web", "--key", key, "--waves", "10%,100%", "--soak", "0", "--note", "the first"
    )
    assert done.code == 0, done.err
    assert re.match(r"release 1 of web begins with wave 10 %: sha256-\w{64}\n", done.out)
    status = fleet("status").out
    assert status.startswith(
        "web: release 1 rolling 10 %; no hosts; NO DRIVER: it stands still\n  the first ("
    )

    assert fleet("pause", "web", "--why", "we look").out == "web: release 1 is paused, wave 10 %\n"
    done = fleet("pause", "web")
    assert done.code == 1
    words = "error[R1003]: release 1 of web is paused, so it can't be paused\nhint: see reactor fleet rollout web\n"
    assert done.err == words
    state = json.loads(fleet("resume", "web", "--format", "json").out)
    assert (state["state"], state["wave"]) == ("rolling", 1000)
    assert fleet("advance", "web").out == "web: release 1 is rolling, wave 100 %\n"

    done = fleet("drive", "web", "--until-ended")
    assert done.code == 0, done.err
    assert done.out.endswith("web: release 1 done 100 %: 0 of 0 hosts have converged\n")
    done = fleet("rollback", "web")
    assert done.code == 1
    assert "release 1 is the first of web: there is no previous release" in done.err

    (place / "site/more").write_text("x")
    done = fleet(
        "release", site, "web", "--key", key, "--soak", "0", "--waves", "100%", "--wait", "--splay", "10m"
    )
    assert done.code == 0, done.err
    assert json.loads(fleet("status", "--format", "json").out)["splay"] == 600
    assert "release 2 of web begins with wave 100 %" in done.out
    assert fleet("rollback", "web").out == "web: release 2 is reverting, wave 0 %\n"
    assert fleet("drive", "web", "--until-ended").code == 0
    assert fleet("status").out.startswith("web: release 2 reverted; no hosts\n")


def test_a_host_is_admitted_once_held_and_freed(fleet, place):
    file = place / "web7.creds"
    for nowhere in (place, place / "missing/web7.creds"):
        done = fleet("admit", "web7", "--channel", "web", "-o", str(nowhere))
        assert f"the host is not admitted: its credentials could not be written to {nowhere}\n" in done.err
    done = fleet("admit", "web7", "--channel", "web", "--group", "canary", "-o", str(file))
    assert done.out == f"admitted web7; its credentials are in {file}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "NATS USER JWT" in file.read_text()
    done = fleet("admit", "web7", "--channel", "web", "-o", str(place / "other"))
    assert (done.code, "there is a host web7 already" in done.err) == (1, True)
    assert not (place / "other").exists()
    done = fleet("admit", "web.7", "--channel", "web", "-o", str(place / "other"))
    assert "error[R1001]: 'web.7' is not a valid name" in done.err

    assert fleet("hold", "web7", "--why", "we look").out == "web7 is held at its release\n"
    assert "  web7: never heard, rank 0, not in the wave\n" in fleet("rollout", "web").out
    (line,) = fleet("status", "--format", "json").out.splitlines()
    assert json.loads(line)["counts"] == {"never heard": 1}
    assert fleet("free", "web7").out == "web7 follows its channels\n"
    done = fleet("hold", "web8")
    assert (done.code, "there is no host web8" in done.err) == (1, True)


@pytest.mark.parametrize("words", [("status",), ("pause", "web"), ("drive", "web")])
def test_without_a_fleet_every_command_says_how_to_begin(reactor, tmp_path, words):
    done = reactor("fleet", words[0], "--home", str(tmp_path), *words[1:])
    assert done.code == 1
    assert f"error[R1008]: there is no fleet in {tmp_path}\nhint: make one: reactor fleet init\n" in done.err


@pytest.mark.parametrize("name", ["Web.1", "a b", "-web", "web>"])
def test_a_channel_that_no_host_could_follow_is_bad_usage(fleet, site, key, name):
    for words in (("release", site), ("pause",), ("drive", "--until-ended"), ("rollout",)):
        more = ("--key", key) if words[0] == "release" else ()
        done = fleet(*words, *more, "--", name)
        assert (done.code, done.out) == (2 if words[0] == "release" else 1, ""), done.err
        assert "error[R10" in done.err
    assert name not in fleet("status").out


def test_a_channel_that_no_host_follows_is_named(fleet, site, key):
    done = fleet("release", site, "wbe", "--key", key, "--soak", "0", "--waves", "100%", "--wait")
    assert done.code == 0, done.err
    assert "no host follows the channel wbe\n" in done.err


def test_a_key_that_hosts_would_refuse_signs_nothing(fleet, site, tmp_path):
    rsa = tmp_path / "rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", rsa], check=True)
    done = fleet("release", site, "rsa", "--key", rsa)
    assert (done.code, done.out) == (1, "")
    assert "error[R1005]: a key of type ssh-rsa is not allowed to sign" in done.err
    assert "rsa: " not in fleet("status").out


def test_a_gate_that_is_written_wrong_is_bad_usage(fleet, site):
    done = fleet("release", site, "web", "--max-failed", "many")
    assert (done.code, "error[R1002]: 'many' is not a number of hosts" in done.err) == (2, True)


def test_slots_shows_who_holds_them(fleet):
    done = fleet("slots")
    assert (done.code, done.out) == (0, "no slot is held\n")
    assert json.loads(fleet("slots", "app", "--format", "json").out) == []


def test_keys_shows_the_public_keys_of_the_fleet_and_of_each_host(fleet, place):
    seeds = (place / "home/keys.json").read_text()
    done = fleet("keys")
    assert done.code == 0, done.err
    lines = dict(re.split("  +", line, maxsplit=1) for line in done.out.splitlines())
    assert re.fullmatch("O[A-Z2-7]{55}", lines["operator"])
    assert lines["account HOSTS"] == json.loads((place / "home/admit.json").read_text())["hosts"]
    assert re.fullmatch(r"U[A-Z2-7]{55}  no age key  card of 20\S+Z", lines["web7"])
    assert not any(seed in done.out for seed in json.loads(seeds).values())

    found = json.loads(fleet("keys", "web7", "--format", "json").out)
    assert (found["fleet"], found["hosts"][0]["key"]) == ({}, lines["web7"].split()[0])
    for name in ("web8", "no.name"):
        assert fleet("keys", name).code == 1

    assert fleet("expel", "web7").code == 0
    assert fleet("keys", "web7").out == f"web7  expelled\nweb7  {lines['web7'].split()[0]}  revoked\n"


def test_a_false_card_is_named_and_does_not_save_the_key_before_it(fleet, place):
    assert fleet("admit", "web9", "--channel", "web", "-o", str(place / "web9.creds")).code == 0
    key = fleet("keys", "web9").out.split()[1]

    async def put() -> None:
        async with operator_session(str(place / "home")) as js:
            await js.key_value("reactor_hosts").put("web9", false.to_bytes())

    false = HostSpec("web9", ("web",), card=SignedCard("{}", "AAAA"))
    trio.run(put)
    assert fleet("keys", "web9").out.startswith(
        "web9  the card is not signed with the card key of this fleet"
    )
    done = fleet("expel", "web9")
    assert (done.code, done.out) == (0, "expelled web9: its keys are revoked on one\n")
    assert f"web9  {key}  revoked\n" in fleet("keys", "web9").out


def test_a_driver_that_is_stopped_leaves_its_channel_to_others(fleet, place, site, key):
    words = ("--key", key, "--waves", "10%,100%", "--approve", "100%", "--soak", "0")
    assert fleet("release", site, "left", *words).code == 0
    with spawned("fleet", "drive", "--home", place / "home", "left", "--until-ended") as driver:
        for line in driver.stdout:
            if b"needs approval" in line:
                break
        assert "; driver " in fleet("status").out
        driver.terminate()
        assert driver.wait(PATIENCE) == 128 + signal.SIGTERM
    assert "left: release 1 rolling 10 %; no hosts; NO DRIVER: it stands still" in fleet("status").out
    assert fleet("halt", "left").code == 0


def test_a_host_that_is_admitted_by_hand_has_credentials_as_long_as_was_asked(fleet, place):
    file = place / "brief.creds"
    done = fleet("admit", "brief", "--channel", "brief", "--life", "2h", "-o", str(file))
    assert done.code == 0, done.err
    assert life_of(str(file)) == pytest.approx(7200, abs=5)
