"""A real host: `reactor fleet follow` on a real server takes signed releases and converges them."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import trio
from nats_servers import NatsServer, free_ports
from signers_of_tests import new_key, public

from reactor.cli.running.fleet_host import RunOnce
from reactor.errors import ReactorError
from reactor.fleet.bundle.digest import digest_of
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.pack import pack
from reactor.fleet.bundle.store import BundleStore, StoreLockedError
from reactor.fleet.host.disk import DiskReleases
from reactor.fleet.operator.overview import overviews
from reactor.fleet.operator.session import operator_session
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases

CONFIG = "id: web7\nservers: ['{url}']\ncredentials: web7.creds\nchannels: [web]\nsigners: signers\n"


class Place:
    """A fleet with one server, one host and the operator's commands."""

    def __init__(self, directory):
        self.directory = directory
        self.port = free_ports(1)[0]
        self.url = f"nats://127.0.0.1:{self.port}"
        self.key = new_key(directory, "ann")
        self.state = directory / "state"
        self.file = directory / "converged"
        self.config = directory / "fleet.yaml"
        self.config.write_text(CONFIG.format(url=self.url))
        (directory / "signers").write_text(f"ann {public(self.key)}\n")
        self.log = directory / "log"

    def command(self, *words):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "reactor",
                "fleet",
                words[0],
                "--home",
                self.directory / "home",
                *words[1:],
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def release(self, content, key=None):
        site = self.directory / "site"
        site.mkdir(exist_ok=True)
        own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'
        text = f"resources:\n  - file:\n      - {self.file}: {{ensure: present, content: {content}, {own}}}\n"
        (site / "manifest.yaml").write_text(text)
        code, said = self.command(
            "release", site, "web", "--key", key or self.key, "--waves", "100%", "--soak", "0"
        )
        assert code == 0, said

    @contextmanager
    def following(self):
        words = [sys.executable, "-m", "reactor", "fleet", "follow", "--config", self.config]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [*words, "--state-dir", self.state], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def content(self):
        return self.file.read_text() if self.file.exists() else None

    def phases(self, *wanted):
        """Wait until the host reports one of these phases; return its line of the overview."""

        async def look():
            async with operator_session(str(self.directory / "home")) as js:
                with trio.fail_after(30):
                    while True:
                        found = [host for each in await overviews(js, "web") for host in each.hosts]
                        if found and found[0].phase in wanted:
                            return found[0]
                        await trio.sleep(0.1)

        return trio.run(look)

    def until(self, condition, seconds=20.0):
        """Wait for what another program does."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def server(place):
    assert place.command("init", place.url)[0] == 1
    text = (place.directory / "home/accounts.conf").read_text()
    running = NatsServer(
        place.directory / "server", text.replace('dir: "accounts"', f'dir: "{place.directory}/jwt"')
    )
    running.port = place.port
    running.start()
    assert place.command("init", place.url)[0] == 0
    code, said = place.command("admit", "web7", "--channel", "web", "-o", place.directory / "web7.creds")
    assert code == 0, said
    yield running
    running.kill()


def test_a_host_converges_releases_refuses_bad_ones_and_survives_its_death_and_the_networks(place, server):
    held = HeldReleases(BundleStore(str(place.state)), "web")
    with place.following() as process:
        place.release("first")
        place.phases("converged")
        assert place.content() == "first"
        assert place.command("drive", "web", "--until-ended")[0] == 0
        first = held.in_force

        place.release("evil", new_key(place.directory, "mallory"))
        assert "not among the keys of the people who may sign" in place.phases("rejected").why
        assert (held.in_force, place.content()) == (first, "first")
        process.send_signal(signal.SIGKILL)

    server.kill()
    place.file.unlink()
    with place.following() as process:
        place.until(lambda: place.content() == "first")
        assert held.in_force == first
        process.terminate()
        assert process.wait(10) == 0
    assert "evil" not in place.log.read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("channels:", "chanels:", "4:1: there is no setting 'chanels'"),
        ("web7\n", "web.7\n", "1:5: 'web.7' is no name"),
        ("[web]", "[web, db]", "4:11: a host follows one channel"),
        ("nats://", "ws://", "2:11: the NATS server ws://"),
        ("signers: signers", "require: 0", "5:10: a number from 1 is expected here"),
        ("channels: [web]", "", "1:1: channels is missing"),
    ],
)
def test_a_wrong_configuration_is_told_with_its_place(reactor, tmp_path, old, new, said):
    config = tmp_path / "fleet.yaml"
    config.write_text(CONFIG.format(url="nats://127.0.0.1").replace(old, new))
    done = reactor("fleet", "follow", "--check", "--config", config)
    assert (done.code, done.out) == (2, "")
    assert f"error[R1009]: {config}:{said}" in done.err


def test_a_good_configuration_is_told(place, reactor):
    done = reactor("fleet", "follow", "--check", "--config", place.config)
    assert (done.code, done.out) == (0, f"web7 follows web on {place.url}\n")


def test_what_is_not_valid_here_is_refused_with_its_place_in_the_bundle(tmp_path):
    run = RunOnce(HeldReleases(BundleStore(str(tmp_path)), "web"), str(tmp_path))
    release = Release("web", 7, digest_of(b"x"), 1, None, 1_700_000_000.0)
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("resources:\n  - fiel: {}\n")
    with pytest.raises(BundleError, match=r"not valid on this host: manifest.yaml:2:5: .*fiel"):
        run.validate(str(tmp_path), release, {"groups": []})
    manifest.write_text(
        "resources:\n  - exec: {name: 'serial {{ Facts.fleet.serial }}', command: 'true', refreshonly: true}\n"
    )
    run.validate(str(tmp_path), release, {"groups": []})


def test_targets_are_judged_with_the_facts_of_this_host(tmp_path):
    run = RunOnce(HeldReleases(BundleStore(str(tmp_path)), "web"), str(tmp_path))
    assert run.is_target("Facts.host.info.os == 'linux'") is True
    assert run.is_target("1 == 2") is False
    with pytest.raises(ReactorError):
        run.is_target("1 ==")


async def test_the_disk_takes_what_is_valid_only_and_tells_a_busy_lock(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/manifest.yaml").write_text("resources: []\n")
    (tmp_path / "state").mkdir()
    bundle = pack(str(tmp_path / "site"))
    release = Release("web", 1, bundle.digest, len(bundle.data), None, 1_700_000_000.0)
    held = HeldReleases(BundleStore(str(tmp_path / "state")), "web")
    valid = []

    def validate(directory, judged):
        valid.append(judged)
        if len(valid) == 1:
            raise BundleError("not here")

    store = DiskReleases(held, validate)
    with pytest.raises(BundleError, match="not here"):
        await store.receive(release, bundle.data)
    assert not store.has_bundle(release)
    await store.receive(release, bundle.data)
    assert store.has_bundle(release)
    with held.store.locked(), pytest.raises(StoreLockedError):
        await store.switch(release, release.to_bytes(), b"signed", {})
    assert store.in_force is None
    await store.switch(release, release.to_bytes(), b"signed", {"groups": []})
    assert (store.in_force, store.floor) == (release.digest, release.floor)
    assert store.document(release.digest) == (release.to_bytes(), b"signed")
    assert valid == [release, release]
