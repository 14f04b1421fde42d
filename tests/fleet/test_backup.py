"""Backups of what the servers of a fleet keep: saved, checked and restored, on real servers."""

import json
import os
import shutil
import stat
import zipfile

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE, Cluster, NatsServer
from real_hosts import RealFleet, file

from reactor.fleet.bucket_names import BUNDLES, CHANNELS, DRIVE, EVENTS, HOSTS, SECRETS
from reactor.fleet.enrolment.card import Card, sign_card
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link import snapshots
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import ApiError, DisconnectedError, NoAnswerError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.snapshots import restore_stream, save_stream
from reactor.fleet.operator import backup as operator_backup
from reactor.fleet.operator import restoring, streams
from reactor.fleet.operator.backup import reading_backup, writing_backup
from reactor.fleet.operator.session import operator_options, save_servers
from reactor.fleet.operator.streams import wanted_streams
from reactor.fleet.wire.nkeys import Key

LARGE = 24 << 20
"""Bytes of an object that is larger than what a server sends before it is told that some has arrived."""


class Saved:
    """A fleet on a server, and a backup of it."""

    def __init__(self, directory):
        self.fleet = FleetServer(directory)
        self.server = self.fleet.server
        self.home = directory / "operator"
        self.file = directory / "fleet.zip"
        save_servers(str(self.home), [self.server.url], None)

    def on_server(self, work):
        """Call ``work`` as the operator, and return what it returns."""

        async def in_session():
            async with connected(operator_options(str(self.home)), seconds=PATIENCE) as connection:
                return await work(JetStream(connection, seconds=PATIENCE))

        return trio.run(in_session)


async def fill(js):
    channels = js.key_value(CHANNELS)
    for number in range(70):
        await channels.put("web", f"state {number}".encode())
    await js.key_value(HOSTS).put("web1", HostSpec("web1", channels=("web",)).to_bytes())
    await js.key_value(SECRETS).put("web1.db", b"encrypted")
    await js.publish("reactor.event.web1", b"batch", headers={"Reactor-Batch": "x:1-2"}, message_id="x:1-2")
    await js.objects(BUNDLES).put("large", os.urandom(LARGE))


async def contents(js):
    """The last sequence and all messages of all streams, with their sequences, times and headers."""
    found = {}
    for name in wanted_streams():
        state = (await js.stream_info(name))["state"]
        async with js.reading(name, start="all", patience=PATIENCE) as messages:
            found[name] = (state["last_seq"], [])
            async for each in messages:
                if each is None:
                    break
                found[name][1].append((each.subject, each.sequence, each.time, dict(each.headers), each.data))
    return found


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    made = Saved(tmp_path_factory.mktemp("backup"))
    with made.server:
        trio.run(made.fleet.make_streams)
        made.on_server(fill)
        yield made


@pytest.fixture
def run(saved, reactor):
    """Run ``backup`` or ``restore`` on a file."""
    return lambda command, path, *options: reactor("fleet", command, path, "--home", saved.home, *options)


@pytest.fixture
def backup(saved, run):
    """Save the fleet, and return the file."""
    done = run("backup", saved.file)
    assert done.code == 0, done.err
    return saved.file


@pytest.fixture
def refused(saved, run, backup, tmp_path):
    """Let a changed copy of the backup be refused, and return the error without its place."""

    def restore(change):
        copy = tmp_path / "copy.zip"
        change(backup, copy)
        before = saved.on_server(contents)
        done = run("restore", copy, "--replace")
        assert (done.code, done.out) == (1, "")
        assert saved.on_server(contents) == before
        return done.err.replace(f"{copy} ", "")

    return restore


def test_a_restored_fleet_has_every_message_as_it_was(saved, backup, run):
    before = saved.on_server(contents)
    assert len(before[f"KV_{CHANNELS}"][1]) == 64
    done = run("restore", backup)
    assert done.code == 1
    assert (
        f"error[R1024]: nothing is restored: the servers have data in KV_{CHANNELS}, KV_{HOSTS}" in done.err
    )
    assert saved.on_server(contents) == before

    saved.on_server(lambda js: js.key_value(CHANNELS).put("web", b"newer"))
    saved.on_server(lambda js: js.delete_stream(f"KV_{DRIVE}"))
    done = run("restore", backup, "--replace", "--format", "json")
    assert done.code == 0, done.err
    assert {each["name"] for each in json.loads(done.out)["restored"]} == {*wanted_streams()}
    assert saved.on_server(contents) == before


def test_only_the_owner_can_read_a_backup_and_it_has_no_key(saved, backup):
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert not backup.with_name(f"{backup.name}.part").exists()
    seeds = [
        line for line in (saved.home / "operator.creds").read_text().splitlines() if line.startswith("SU")
    ]
    data = backup.read_bytes()
    assert seeds
    assert not [each for each in seeds if each.encode() in data]


def cut(size):
    """A copy with ``size`` bytes, or without as many at its end."""
    return lambda backup, copy: copy.write_bytes(backup.read_bytes()[:size])


def with_a_changed_bit(backup, copy):
    data = bytearray(backup.read_bytes())
    data[len(data) // 2] ^= 1
    copy.write_bytes(data)


def with_index(change):
    """A copy whose index ``change`` has changed."""

    def rewritten(backup, copy):
        with zipfile.ZipFile(backup) as old, zipfile.ZipFile(copy, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "backup.json":
                    index = json.loads(content)
                    change(index)
                    content = json.dumps(index)
                new.writestr(name, content)

    return rewritten


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut(0), "is damaged, or no backup"),
        (cut(100), "is damaged, or no backup"),
        (cut(-LARGE // 2), "is damaged, or no backup"),
        (cut(-1), "is damaged, or no backup"),
        (with_a_changed_bit, f"is damaged, or no backup: the stream OBJ_{BUNDLES} can't be read"),
        (with_index(lambda index: index.update(fleet="A2")), "is of another fleet: its account is A2, and"),
        (with_index(lambda index: index.update(v=2)), "has version 2 of backups, and this reactor reads 1"),
        (with_index(lambda index: index.pop("streams")), "is damaged, or no backup"),
        (with_index(lambda index: index["streams"][0].update(name="KV_x.>")), "is damaged, or no backup"),
        (
            with_index(lambda index: index["streams"][0].update(sha256="0" * 64)),
            f"is damaged, or no backup: the stream KV_{CHANNELS} does not have its digest",
        ),
    ],
)
def test_a_damaged_or_foreign_backup_changes_nothing(refused, change, words):
    assert f"error[R1024]: {words}" in refused(change)


def test_a_backup_that_fails_leaves_the_one_before(run, backup, tmp_path, monkeypatch):
    before = backup.read_bytes()
    part = backup.with_name(f"{backup.name}.part")
    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda _: os.statvfs_result([4096] * 2 + [100] * 9))
        done = run("backup", backup)
    assert (done.code, "and its disk has 409,600 free" in done.err) == (1, True)
    assert (backup.read_bytes(), part.exists()) == (before, False)

    with writing_backup(str(backup)):
        done = run("backup", backup)
        assert (done.code, f"another backup writes {part}" in done.err) == (1, True)
        part.unlink()
        part.write_bytes(b"left by a backup that was killed")
        part.chmod(0o644)
        done = run("backup", backup)
        assert done.code == 0, done.err
        part.touch()
    (tmp_path / "link.zip").symlink_to(backup)
    done = run("backup", tmp_path / "link.zip")
    assert (done.code, "is not a regular file" in done.err) == (1, True)


def test_a_server_without_room_says_how_to_make_some(saved, backup, tmp_path, reactor):
    small = NatsServer(
        tmp_path / "small",
        (saved.home / "accounts.conf").read_text().replace('dir: "accounts"', 'dir: "{directory}/jwt"')
        + 'jetstream { store_dir: "{directory}/js", max_file_store: 200MB }',
        jetstream=False,
    )
    home = tmp_path / "home"
    shutil.copytree(saved.home, home)
    save_servers(str(home), [small.url], None)
    with small:
        done = reactor("fleet", "restore", backup, "--home", home)
    assert done.code == 1
    assert "error[R1024]: the fleet is not restored completely: JetStream refuses " in done.err
    assert "hint: give the servers a larger disk, or a larger max_file_store" in done.err
    assert "; then restore it again: that goes on where this one has ended" in done.err


def test_a_restoration_outlives_the_election_of_a_leader(saved, run, backup, monkeypatch):
    failures = [
        ApiError("no leader now", status=503),
        ApiError("begun already", number=10130),
        NoAnswerError("silence"),
    ]

    async def failing(*how):
        if failures:
            raise failures.pop()
        await restore_stream(*how)

    monkeypatch.setattr(restoring, "restore_stream", failing)
    monkeypatch.setattr(restoring, "PAUSE", 0.0)
    before = saved.on_server(contents)
    done = run("restore", backup, "--replace")
    assert (done.code, failures) == (0, []), done.err
    assert saved.on_server(contents) == before


def test_a_restoration_that_was_killed_is_finished_by_the_next_one(saved, run, reactor, backup, monkeypatch):
    async def killed(js, stream, snapshot, pieces):
        if stream == f"KV_{HOSTS}":
            await js.create_stream(stream, snapshot.config)
            await js.key_value(HOSTS).put("web9", b"a part")
            raise ApiError("killed", "x")
        await restore_stream(js, stream, snapshot, pieces)

    before = saved.on_server(contents)
    with monkeypatch.context() as patch:
        patch.setattr(restoring, "restore_stream", killed)
        assert run("restore", backup, "--replace").code == 1
    said = f"wrong  stream KV_{HOSTS}: a restore has ended early, and not all streams are as in the backup; hint: give it again"
    assert said in reactor("fleet", "doctor", "--home", saved.home).out
    done = run("restore", backup, "--replace")
    assert done.code == 0, done.err
    assert "an earlier restore of it had ended early: it left 8 streams whole" in done.err
    assert f"restored KV_{HOSTS}: 1 message" in done.out
    assert BUNDLES not in done.out
    assert saved.on_server(contents) == before
    assert (
        saved.on_server(lambda js: js.stream_info(f"KV_{HOSTS}"))["config"]["metadata"]
        .keys()
        .isdisjoint([streams.RESTORING])
    )


def test_a_backup_outlives_the_leader_of_a_stream(saved, run, backup, tmp_path, monkeypatch):
    leaders, publish = ["one", "two"], Connection.publish

    async def leader_of(_js, stream):
        return leaders.pop(0) if stream == f"OBJ_{BUNDLES}" and leaders else ""

    async def with_silence(connection, subject, *how, **fields):
        """The server waits for what it is not told: that its pieces have arrived."""
        if not leaders or not subject.startswith("$JS.SNAPSHOT.ACK"):
            await publish(connection, subject, *how, **fields)

    monkeypatch.setattr(snapshots, "_leader_of", leader_of)
    monkeypatch.setattr(snapshots, "_SILENCE", 0.5)
    monkeypatch.setattr(operator_backup, "PAUSE", 0.0)
    monkeypatch.setattr(Connection, "publish", with_silence)
    done = run("backup", tmp_path / "again.zip")
    assert (done.code, leaders) == (0, []), done.err
    assert abs((tmp_path / "again.zip").stat().st_size - backup.stat().st_size) < 4096, "no part is in it"
    with reading_backup(str(tmp_path / "again.zip")) as read:
        read.check(lambda *_: None)
        assert {each.name for each in read.streams} == {*wanted_streams()}


def test_a_stream_that_others_make_meanwhile_is_not_deleted(saved, run, backup, monkeypatch):
    async def in_use(js, stream, *_):
        await js.create_stream(stream, wanted_streams()[stream])
        raise ApiError(f"{stream} is in use", number=10130)

    async def empty(js):
        for name in wanted_streams():
            await js.delete_stream(name)

    saved.on_server(empty)
    with monkeypatch.context() as patch:
        patch.setattr(restoring, "restore_stream", in_use)
        done = run("restore", backup)
    assert (done.code, f"OBJ_{BUNDLES} is in use" in done.err) == (1, True)
    assert saved.on_server(lambda js: js.stream_names()) == [f"OBJ_{BUNDLES}"]
    assert run("restore", backup, "--replace").code == 0


async def test_streams_are_made_when_the_servers_of_a_new_cluster_know_each_other(monkeypatch):
    monkeypatch.setattr(streams, "_AGAIN", 0.0)
    unknown = [ApiError("no suitable peers for placement", number=10005)] * 2

    async def write(_name, fields):
        if unknown:
            raise unknown.pop()
        return {"config": fields}

    await streams.with_room(write, "KV_a", {"num_replicas": 3}, 0)
    assert unknown == []
    monkeypatch.setattr(streams, "_MEETING", 0.0)
    unknown.append(ApiError("no suitable peers for placement", number=10005))
    with pytest.raises(ApiError, match="no suitable peers"):
        await streams.with_room(write, "KV_a", {"num_replicas": 3}, 0)


def test_a_host_that_was_expelled_since_the_backup_is_named(saved, run, reactor, tmp_path):
    keys = saved.fleet.fleet_server.keys
    card = sign_card(Card("web9", Key.generate("user").public, None, ("web",), (), 1.7e9), keys.cards)
    spec = HostSpec("web9", ("web",), card=card).to_bytes()
    saved.on_server(lambda js: js.key_value(HOSTS).put("web9", spec))
    assert run("backup", tmp_path / "old.zip").code == 0
    assert reactor("fleet", "expel", "web9", "--home", saved.home).code == 0
    done = run("restore", tmp_path / "old.zip", "--replace")
    assert done.code == 0
    assert (
        "expelled since then, and known again: web9\nhint: expel them again: reactor fleet expel web9"
        in done.err
    )


async def test_a_server_that_dies_amid_a_stream_ends_its_backup_and_its_restoration(saved, tmp_path):
    stream = f"OBJ_{BUNDLES}"
    other = FleetServer(tmp_path)
    with other.server:
        await other.make_streams()
        async with other.connected() as js:
            await fill(js)
            pieces = []
            snapshot = await save_stream(js, stream, pieces.append)

            def kill(_piece):
                other.server.kill()

            with pytest.raises(DisconnectedError, match=f"was lost amid the stream {stream}"):
                await save_stream(js, stream, kill)
            other.server.start()
            await js.connection.wait_up()
            await js.delete_stream(stream)

            def killing():
                yield pieces[0]
                other.server.kill()
                yield from pieces[1:]

            with pytest.raises(DisconnectedError, match="lost"):
                await restore_stream(js, stream, snapshot, killing())
            other.server.start()
            await js.connection.wait_up()
            with pytest.raises(ApiError, match=f"has only a part of the stream {stream}"):
                await restore_stream(js, stream, snapshot._replace(state={"last_seq": 10**6}), pieces)
            await js.delete_stream(stream)
            await restore_stream(js, stream, snapshot, pieces)
            assert len(await js.objects(BUNDLES).read("large", largest=LARGE)) == LARGE


def test_one_server_becomes_three_and_a_host_goes_on(tmp_path, reactor):
    """The steps of docs/fleet-servers.md."""
    fleet = RealFleet(tmp_path)
    fleet.start()
    one, home, saved = fleet.fleet_server.server, tmp_path / "operator", tmp_path / "fleet.zip"
    save_servers(str(home), [one.url], None)
    host, path = fleet.host("web1"), tmp_path / "motd"

    async def release(content):
        async with connected(operator_options(str(home)), seconds=PATIENCE) as connection:
            js = JetStream(connection, seconds=PATIENCE)
            made = await fleet.put(js, "web", file(path, content))
            await host.phase(js, "converged", release=made.digest)
            state = (await js.stream_info(EVENTS))["state"]
            return path.read_text(), state["last_seq"]

    with host.following():
        assert trio.run(release, "one")[0] == "one"
        assert reactor("fleet", "backup", saved, "--home", home).code == 0
        one.kill()

        accounts = (home / "accounts.conf").read_text().replace('dir: "accounts"', 'dir: "{directory}/jwt"')
        three = Cluster(tmp_path / "three", configuration=accounts)
        three.servers[0].port = one.port
        with three:
            done = reactor("fleet", "restore", saved, "--home", home)
            assert done.code == 0, done.err
            done = reactor("fleet", "init", *three.urls, "--home", home)
            assert (done.code, "made the stream" in done.out) == (0, False), done.err
            content, last = trio.run(release, "three")
            assert content == "three"
            assert last > 1

            async def copies():
                async with connected(operator_options(str(home)), seconds=PATIENCE) as connection:
                    js = JetStream(connection, seconds=PATIENCE)
                    return {
                        (await js.stream_info(name))["config"]["num_replicas"] for name in wanted_streams()
                    }

            assert trio.run(copies) == {3}
    with reading_backup(str(saved)) as read:
        assert read.fleet == fleet.fleet_server.fleet_server.keys.fleet.public
