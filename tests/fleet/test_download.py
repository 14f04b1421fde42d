"""A download that goes on where it broke off: on a real server, and after a kill at each step on disk."""

import os
import signal
from types import SimpleNamespace

import pytest
from buckets import make_store
from killed_steps import killed_before_step
from nats_servers import PATIENCE, NatsServer

from reactor.fleet.bundle.digest import digest_of
from reactor.fleet.bundle.errors import BundleError, NoRoomError
from reactor.fleet.bundle.incoming import Arrived, IncomingBundle
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.host.disk import DiskReleases
from reactor.fleet.host.fetch import download
from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import LinkError, MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.objects import CHUNK
from reactor.fleet.link.options import Options
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases

DATA = os.urandom(9 * CHUNK + 7)
RELEASE = Release("web", 1, digest_of(DATA), len(DATA), None, 1_700_000_000.0)


class Counting(DiskReleases):
    """Counts the chunks that arrive; the network ends after ``most`` of them."""

    def __init__(self, state, most=1000):
        bundles = BundleStore(str(state))
        state.mkdir(exist_ok=True)
        with bundles.locked():  # as the run does when it begins
            super().__init__(HeldReleases(bundles, "web"), lambda _, __: None)
        self.chunks, self.most = [], most

    async def add(self, arrived, sequence, data):
        if len(self.chunks) == self.most:
            raise LinkError("the network is away", code="R0901")
        self.chunks.append(sequence)
        return await super().add(arrived, sequence, data)

    def content(self):
        with self._incoming.opened() as file:
            return file.read()


@pytest.fixture
async def objects(tmp_path):
    with NatsServer(tmp_path / "server") as server:
        async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as connection:
            store = JetStream(connection).objects("bundles")
            await make_store(store)
            await store.put(RELEASE.bundle, DATA)
            yield store


async def test_a_download_goes_on_where_it_broke_off_and_asks_for_no_chunk_twice(objects, tmp_path):
    seen = []
    for _ in range(3):  # each time another process of the host
        store = Counting(tmp_path / "state", most=4)
        try:
            await download(objects, RELEASE, store)
        except LinkError:
            assert (await store.arrived()).size == len(seen + store.chunks) * CHUNK
        seen += store.chunks
    assert len(seen) == len(set(seen)) == 10
    assert store.content() == DATA
    await download(objects, RELEASE, nothing := Counting(tmp_path / "state"))
    assert nothing.chunks == [], "all of it is here"


async def test_a_bundle_that_was_stored_again_is_brought_from_its_beginning(objects, tmp_path):
    with pytest.raises(LinkError):
        await download(objects, RELEASE, Counting(tmp_path / "state", most=4))
    await objects.put(RELEASE.bundle, DATA)
    store = Counting(tmp_path / "state")
    await download(objects, RELEASE, store)
    assert (len(store.chunks), store.content()) == (10, DATA)


@pytest.mark.parametrize("data", [DATA[:-1], DATA + b"x", DATA + os.urandom(5 * CHUNK)])
async def test_what_has_another_size_is_refused_before_it_fills_the_disk(objects, tmp_path, data):
    await objects.put(RELEASE.bundle, data)
    store = Counting(tmp_path / "state")
    with pytest.raises(BundleError, match="its size is wrong"):
        await download(objects, RELEASE, store)
    assert (await store.arrived()).size == 0
    await objects.delete(RELEASE.bundle)
    with pytest.raises(MissingError):
        await download(objects, RELEASE, store)


async def test_a_bundle_for_which_the_disk_has_no_room_does_not_fill_it(objects, tmp_path, monkeypatch):
    with pytest.raises(LinkError):
        await download(objects, RELEASE, Counting(tmp_path / "state", most=4))
    store, really = Counting(tmp_path / "state"), os.statvfs
    needed = 2 * len(DATA) - 4 * CHUNK + (16 << 20)
    for free in (needed - 1, needed + 4 * CHUNK):
        room = SimpleNamespace(f_bavail=free, f_frsize=1)
        monkeypatch.setattr(
            os, "statvfs", lambda path, room=room: room if "downloads" in path else really(path)
        )
        if free < needed:
            with pytest.raises(
                NoRoomError, match=f"a bundle needs {needed:,} bytes on the disk of .*, and {free:,} are free"
            ):
                await download(objects, RELEASE, store)
            assert (store.chunks, os.listdir(tmp_path / "state/fleet/downloads")) == ([], [])
    await download(objects, RELEASE, store)
    assert store.content() == DATA


async def test_a_damaged_bundle_is_forgotten_so_that_the_next_attempt_brings_it_again(objects, tmp_path):
    await objects.put(RELEASE.bundle, b"x" * len(DATA))
    store = Counting(tmp_path / "state")
    await download(objects, RELEASE, store)
    with pytest.raises(BundleError, match="was announced"):
        await store.receive(RELEASE)
    assert await store.arrived() == Arrived()


def test_a_host_killed_at_any_step_of_a_download_goes_on_with_what_had_arrived(tmp_path):
    chunks = [DATA[at : at + CHUNK] for at in range(0, 3 * CHUNK, CHUNK)]
    fatal, code, resumed = 0, None, set()

    def bring(incoming):
        arrived = incoming.arrived()
        if not arrived.object:
            arrived = incoming.begin("sha256-x", "copy")
        before = arrived.sequence
        for number in range(arrived.sequence, 3):
            arrived = incoming.add(arrived, number + 1, chunks[number])
        return before

    while code != 0:
        fatal += 1
        (tmp_path / f"state{fatal}").mkdir()
        incoming = IncomingBundle(str(tmp_path / f"state{fatal}"), "web")
        code = killed_before_step(fatal, lambda incoming=incoming: bring(incoming))
        assert code in (0, -signal.SIGKILL)
        resumed.add(bring(incoming))
        with incoming.opened() as file:
            assert file.read() == b"".join(chunks)
    assert resumed == {0, 1, 2, 3}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"size": -1}', '{"bundle": "x", "odd": 1}', '{"size": 99}'])
def test_a_damaged_record_counts_as_nothing(tmp_path, text):
    incoming = IncomingBundle(str(tmp_path), "web")
    incoming.add(incoming.begin("sha256-x", "copy"), 1, b"x" * 10)
    (tmp_path / "downloads/web.json").write_text(text)
    assert incoming.arrived() == Arrived()


def test_a_link_in_its_place_is_not_followed(tmp_path):
    incoming = IncomingBundle(str(tmp_path), "web")
    arrived = incoming.begin("sha256-x", "copy")
    (tmp_path / "downloads/web.bundle").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"):
        incoming.add(arrived, 1, b"x")
    assert not (tmp_path / "victim").exists()
