"""Secrets of a fleet on a real server: commands of an operator, real hosts, and what others can read."""

import glob
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyrage
import pytest
import trio
from known_fleet import remember
from nats_servers import PATIENCE
from real_hosts import CONFIG, MADE, RealFleet, RealHost
from secret_pieces import leaks

from reactor.fleet.bucket_names import CHANNELS, HOSTS, SECRETS
from reactor.fleet.enrolment.card import Card, CardError, sign_card
from reactor.fleet.host.keys import age_recipient
from reactor.fleet.host.ports import Pace
from reactor.fleet.host.secrets import SecretFollower
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import LinkError
from reactor.fleet.operator.live_fleet import LiveFleet
from reactor.fleet.operator.overview import overviews
from reactor.fleet.rollout.rank import RANKS
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.sealed_secret import MOST_BYTES, OPERATORS, SealedSecret
from reactor.fleet.wire.nkeys import Key
from reactor.language.secrets import SecretText
from reactor.secrets.declarations import Source
from reactor.secrets.errors import SecretError
from reactor.secrets.fleet_place import FleetPlace
from reactor.secrets.store import SecretStore

FIRST, SECOND = "first-S3cr3t-4f1d2c3b5a", "second-S3cr3t-9e8d7c6b5a"


class World:
    """A fleet whose hosts have directories of their own, as after `join`."""

    def __init__(self, directory):
        self.fleet = RealFleet(directory)
        self.fleet.start()
        self.home = remember(self.fleet.fleet_server)
        self.cards = self.fleet.fleet_server.fleet_server.keys.cards

    def files(self, name, channel):
        """A host that has joined: its configuration, credentials and age key. Returns it and its recipient."""
        place = self.fleet.home / "hosts" / name
        place.mkdir(parents=True)
        credentials = self.fleet.fleet_server.host_credentials(name)
        text = CONFIG.format(name=name, url=self.fleet.fleet_server.server.url, channels=channel)
        text = text.replace(f"{name}.creds", credentials).replace(
            "signers: signers", f"signers: {self.fleet.home}/signers"
        )
        (place / f"{name}.yaml").write_text(f"{text}card_key: {self.cards.public}\n")
        return RealHost(name, place, [channel]), age_recipient(str(place / "fleet-age.key"))

    async def admit(self, js, name, recipient, channel, *groups):
        card = Card(name, Key.generate("user").public, recipient, (channel,), groups, MADE)
        spec = HostSpec(name, (channel,), groups, card=sign_card(card, self.cards))
        await js.key_value(HOSTS).put(name, spec.to_bytes())

    def secret(self, *words, value=None):
        return self.run("secret", *words, value=value)

    async def fleet_said(self, *words):
        return (await trio.to_thread.run_sync(lambda: self.run(*words))).stdout.decode()

    def run(self, *words, value=None):
        return subprocess.run(
            [sys.executable, "-m", "reactor", "fleet", *map(str, words), "--home", self.home],
            input=value, capture_output=True, check=False,
        )  # fmt: skip

    async def said(self, *words, value=None):
        """What a command of the operator says that must succeed."""
        done = await trio.to_thread.run_sync(lambda: self.secret(*words, value=value))
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        return done.stdout.decode()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("secrets"))
    yield made
    made.fleet.fleet_server.server.kill()


def everything_in(*places):
    """The files and their contents; without the backups of what a resource wrote before, which `restore` brings back.

    The server runs, and replaces files of its own meanwhile.
    """
    for place in places:
        for path in map(Path, glob.iglob(f"{place}/**", recursive=True, include_hidden=True)):
            with suppress(FileNotFoundError):
                if path.is_file() and "backups" not in path.parts:
                    yield path, path.read_bytes()


async def live_view(js):
    live = LiveFleet(js)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.run)
        with trio.fail_after(PATIENCE):
            await live.complete.wait()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            return await live.view()


def manifest_of(path, name):
    own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0600"'
    content = "password = {{ Secrets.db }}"
    return f"  - file: [{path}: {{ensure: present, content: '{content}', {own}}}]\nsecrets: {{db: {{fleet: {name}}}}}\n"


async def test_a_host_writes_a_file_from_a_secret_that_nothing_else_holds(world, tmp_path):
    host, recipient = world.files("web1", "one")
    path = tmp_path / "conf"
    kept = host.state / "fleet/secrets/db-password"
    async with world.fleet.operator() as js:
        await world.admit(js, "web1", recipient, "one", "db")
        with host.following() as process:
            await world.fleet.put(js, "one", manifest_of(path, "db-password"))
            waiting = await host.summary(js, lambda each: each.engine.failed)
            why = dict(waiting.engine.worst)[f"file#{path}"]
            assert (
                "waits for the secret db: the fleet has not given the secret db-password to this host" in why
            )
            assert not path.exists()

            said = await world.said("set", "db-password", "--for", "group:db", value=FIRST.encode())
            assert said == "gave the secret db-password to web1\n"
            await host.phase(js, "converged", channel="one")
            assert path.read_text() == f"password = {FIRST}"
            assert oct(kept.stat().st_mode & 0o777) == "0o600"

            await world.said("set", "db-password", "--for", "group:db", value=SECOND.encode())
            await host.until(lambda: path.read_text() == f"password = {SECOND}")

            before = kept.read_bytes()
            forged = SealedSecret("web1", "db-password", "", before).signed(Key.generate("server"))
            await js.key_value(SECRETS).put("web1.db-password", forged.to_bytes())
            await js.connection.publish("reactor.changed.host.web1")
            await host.until(lambda: "the secret db-password is refused" in host.said())
            assert kept.read_bytes() == before

            assert await world.said("rm", "db-password") == "took the secret db-password from web1\n"
            await host.until(lambda: not kept.exists())
            await host.summary(js, lambda each: each.engine.failed)
            assert path.read_text() == f"password = {SECOND}"
            process.terminate()
            process.wait(PATIENCE)
    for place, content in everything_in(world.fleet.home):
        for value in (FIRST, SECOND):
            assert leaks(value, content) == [], place


async def test_a_secret_is_there_before_its_release_and_without_the_network(world, tmp_path):
    host, recipient = world.files("off1", "off")
    path = tmp_path / "conf"
    server = world.fleet.fleet_server.server
    async with world.fleet.operator() as js:
        await world.admit(js, "off1", recipient, "off")
        await world.said("set", "early", "--for", "off1", value=FIRST.encode())
        with host.following():
            await world.fleet.put(js, "off", manifest_of(path, "early"))
            await host.phase(js, "converged", channel="off")
        await world.said("rm", "early")
    server.kill()
    try:
        path.unlink()
        with host.following():
            await host.until(path.exists)
            assert path.read_text() == f"password = {FIRST}"
    finally:
        server.start()


@pytest.fixture
def world_of_its_own(tmp_path):
    made = World(tmp_path)
    yield made
    made.fleet.fleet_server.server.kill()


async def test_a_host_keeps_its_secrets_when_the_servers_have_lost_their_data(world_of_its_own):
    world = world_of_its_own
    host, recipient = world.files("web9", "lost")
    server, kept = world.fleet.fleet_server.server, host.state / "fleet/secrets"
    used, warned = ["db"], []
    kept.mkdir(parents=True)

    async def given(name):
        async with world.fleet.operator() as js:
            await world.admit(js, "web9", recipient, "lost")
        await world.said("set", name, "--for", "web9", value=FIRST.encode())
        await host.until((kept / name).exists)

    connection = Connection(world.fleet.fleet_server.options("web9"))
    follower = SecretFollower("web9", world.cards.public, str(kept), lambda: used, warned.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        nursery.start_soon(follower.run, connection, Pace())
        await given("db")
        before = (kept / "db").read_bytes()
        server.kill()
        shutil.rmtree(server.directory / "js")
        server.start()
        await world.fleet.fleet_server.make_streams()
        used.append("later")
        await given("later")  # after db was looked for
        assert (kept / "db").read_bytes() == before
        assert warned == [
            "the secret db is not on the servers any more, and was not removed: this host keeps it"
        ]
        nursery.cancel_scope.cancel()


async def test_only_the_host_reads_its_secrets_and_a_new_host_gets_them_by_sync(world):
    _, recipient = world.files("eu1", "two")
    async with world.fleet.operator() as js:
        await world.admit(js, "eu1", recipient, "two", "eu")
        await world.said("set", "token", "--for", "group:eu", value=FIRST.encode())
        async with world.fleet.fleet_server.connected("eu2") as other:
            for key in ("eu1.token", f"{OPERATORS}.token"):
                with pytest.raises(LinkError):
                    await other.key_value(SECRETS).last(key)
        _, recipient = world.files("eu3", "two")
        await world.admit(js, "eu3", recipient, "two", "eu")
        assert await world.said("list") == "token  for group:eu: eu1; lacking: eu3\n"
        state = ChannelState("two", "sha256-" + "a" * 64, 1, None, RANKS, (RANKS,), Phase.DONE)
        await js.key_value(CHANNELS).put("two", state.to_bytes())
        assert "  eu3: lacks secret token\n" in await world.fleet_said("status")
        assert "  lacks secret token\n" in await world.fleet_said("why", "eu3")
        assert "lacks secret" not in await world.fleet_said("why", "eu1")
        shown = {each.state.channel: each.lacks for each in overviews(await live_view(js))}
        assert shown["two"] == {"eu3": ["token"]}
        assert await world.said("sync") == "gave the secret token to eu3\n"
        assert "lacks secret" not in await world.fleet_said("status")
        assert await world.said("sync") == "no host lacks a secret\n"
        entry = await js.key_value(SECRETS).get("eu3.token")
        sealed = SealedSecret.from_bytes(entry.value)
        sealed.verify(world.cards.public, "eu3", "token")
        with pytest.raises(CardError):
            sealed.verify(world.cards.public, "eu1", "token")
        assert await world.said("rm", "token") == "took the secret token from eu1, eu3\n"
        assert await world.said("list") == "there is no secret\n"


async def test_what_can_not_be_set_changes_nothing(world, tmp_path):
    async with world.fleet.operator() as js:
        await world.admit(js, "old1", None, "three", "old")
        large = tmp_path / "large"
        large.write_bytes(b"x" * (2 << 20))
        for words, value, said in (
            (("set", "db", "--for", "group:old"), b"x", "these hosts have no age key on a card: old1"),
            (("set", "db", "--for", "old1", "--from", large), None, f"more than {MOST_BYTES // 1024} KiB"),
            (("set", "db", "--for", "nothing-like-it"), b"x", "no host is chosen by 'nothing-like-it'"),
            (("set", "d.b", "--for", "old1"), b"x", "'d.b' is not a name for a secret"),
            (("set", "db", "--for", "old1"), b"", "the secret db is empty"),
            (("set", "db", "--for", "old1"), b"\xff\xfe", "the secret db is not UTF-8 text"),
            (("set", "db", "--for", "old1", "--from", tmp_path / "no"), None, "No such file"),
            (("rm", "db"), None, "there is no secret db"),
        ):
            done = await trio.to_thread.run_sync(
                lambda words=words, value=value: world.secret(*words, value=value)
            )
            assert (done.returncode, done.stdout) == (1, b"")
            assert "error[R1023]: " in done.stderr.decode()
            assert said in done.stderr.decode()
        assert await js.key_value(SECRETS).keys() == []


def test_a_secret_that_can_not_be_opened_may_come_later_and_quotes_nothing(tmp_path):
    place = FleetPlace(str(tmp_path), str(tmp_path / "fleet-age.key"))
    source, reads = Source(fleet="db"), set()
    with pytest.raises(SecretError, match="this run follows no fleet") as caught:
        SecretStore().value("db", source, "/", reads)
    assert not caught.value.may_pass
    store = SecretStore(fleet=place)
    recipient = pyrage.x25519.Recipient.from_str(age_recipient(place.identity))
    stranger = pyrage.x25519.Identity.generate().to_public()
    for content, said in (
        (None, "has not given the secret db"),
        (b"damaged", "the secret db of the fleet is not encrypted with age"),
        (pyrage.encrypt(FIRST.encode(), [stranger]), "no key of this host opens the secret db of the fleet"),
        (pyrage.encrypt(b"\xff", [recipient]), "the secret db of the fleet is not UTF-8 text"),
    ):
        if content is not None:
            (tmp_path / "db").write_bytes(content)
        with pytest.raises(SecretError, match=said) as caught:
            store.value("db", source, "/", reads)
        assert caught.value.may_pass
    (tmp_path / "db").write_bytes(pyrage.encrypt(FIRST.encode(), [recipient]))
    assert store.value("db", source, "/", reads) == FIRST
    assert isinstance(store.value("db", source, "/", reads), SecretText)
    assert reads == {str(tmp_path / "db"), place.identity}
    assert place.used == {"db"}


def test_a_manifest_that_names_a_secret_wrongly_is_refused(reactor, tmp_path):
    manifest = tmp_path / "site.yaml"
    manifest.write_text("secrets: {db: {fleet: ../db}}\nresources: []\n")
    done = reactor("validate", manifest)
    assert (done.code, f"{manifest}:1:23" in done.err) == (2, True), done.err
