"""Shared values on a real server: real hosts publish them, and a file that is made of them follows."""

import json
import os
import re
import signal
import stat
import sys

import pytest
import trio
import trio.testing
from nats_servers import PATIENCE
from real_hosts import RealFleet, file

from reactor.fleet.bucket_names import SHARED
from reactor.fleet.host import shared_values as shared_values_module
from reactor.fleet.host.shared_values import SharedValues
from reactor.fleet.host.shares import SharesPublisher
from reactor.fleet.link.errors import DeniedError
from reactor.fleet.operator.session import save_servers
from reactor.fleet.operator.shared_state import shared_values
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError

SHARES = "shares: {pg: '{{ Facts.fleet.id }}:543{{ Facts.fleet.serial }}'}\n"
ONLY_SHARES = "  []\n" + SHARES


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    made = RealFleet(tmp_path_factory.mktemp("shared"))
    made.start()
    yield made
    made.fleet_server.server.kill()


async def said(*words):
    """What ``reactor fleet shared`` prints."""
    command = [sys.executable, "-m", "reactor", "fleet", "shared", *words]
    return (await trio.run_process(command, capture_stdout=True)).stdout.decode()


async def test_the_file_of_a_load_balancer_follows_what_other_hosts_share(fleet, tmp_path):
    database, balancer = fleet.host("db1", ["db"]), fleet.host("lb1", ["lb"])
    path, beside = tmp_path / "pool", tmp_path / "beside"
    pool = file(path, "{{ toJSON(shared('pg', '', 2)) }}") + file(beside, "{{ toJSON(shared('none')) }}")

    def contents():
        return json.loads(path.read_text()) if path.exists() else None

    async with fleet.operator() as js:
        with balancer.following() as process, database.following() as other:
            await fleet.put(js, "lb", pool + SHARES)
            await balancer.until(beside.exists)
            assert beside.read_text() == "{}"
            found = await balancer.summary(
                js, lambda each: each.engine.blocked and each.channels["lb"].phase == "moving"
            )
            assert (found.engine.failed, path.exists()) == (0, False)
            await fleet.put(js, "db", ONLY_SHARES)
            await balancer.until(path.exists)
            assert contents() == {"db1": "db1:5431", "lb1": "lb1:5431"}
            mirror = balancer.state / "fleet/shared/pg.json"
            assert stat.S_IMODE(mirror.stat().st_mode) == 0o600

            await fleet.put(js, "db", ONLY_SHARES)
            async with js.key_value(SHARED).watch("db1.pg") as entries:
                async for entry in entries:
                    if entry and b":5432" in entry.value:
                        break
            await balancer.until(lambda: contents()["db1"] == "db1:5432")
            assert [each.key for each in await shared_values(js, "pg")] == ["db1.pg", "lb1.pg"]

            operator = str(fleet.home / "operator")
            save_servers(operator, [fleet.fleet_server.server.url], None)
            line = await said("pg", "--home", operator)
            assert re.fullmatch(
                r'pg  db1  "db1:5432"  shared .+ ago\npg  lb1  "lb1:5431"  shared .+ ago\n', line
            )
            shown = json.loads(await said("--home", operator, "--format", "json"))
            assert [(each["host"], each["name"], each["value"]) for each in shown] == [
                ("db1", "pg", "db1:5432"),
                ("lb1", "pg", "lb1:5431"),
            ]
            assert await said("none", "--home", operator) == "no value is shared\n"

            before = path.stat().st_ino
            await fleet.put(js, "db", "")
            found = await balancer.summary(js, lambda each: each.engine.blocked)
            assert found.engine.failed == 0
            assert [each.key for each in await shared_values(js, None)] == ["lb1.pg"]
            assert (path.stat().st_ino, contents()["db1"]) == (before, "db1:5432")
            other.terminate()
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
    fleet.fleet_server.server.kill()
    try:
        beside.unlink()
        with balancer.following():
            await balancer.until(beside.exists)
            assert beside.read_text() == "{}"
    finally:
        fleet.fleet_server.server.start()
    assert "db1:5431" not in path.read_text()


def loaded(tmp_path, text, network=None):
    """What a manifest shares, or its first problem."""
    path = tmp_path / "manifest.yaml"
    path.write_text(text)
    try:
        return load((str(path),), Inputs(network=network)).shares
    except ManifestError as error:
        first = error.diagnostics[0]
        return f"{first.place.line}:{first.place.column} {first.code} {first.message}"


def test_what_a_manifest_shares_is_checked_when_it_is_loaded(tmp_path):
    def shared(text):
        return loaded(tmp_path, f"shares: {text}\nresources: []\n")

    assert shared("{a: '{{ 1 + 1 }}', B-_9: {ports: [1, x]}, c: plain, d: true}") == {
        "a": 2,
        "B-_9": {"ports": [1, "x"]},
        "c": "plain",
        "d": True,
    }
    assert shared("") == {}
    assert shared("[a]").startswith("1:9 R0109 shares must be a map")
    assert shared("{a.b: 1}") == "1:10 R0109 'a.b' is not a name for a shared value"
    assert shared(f"{{{'a' * 64}: 1}}").endswith("is not a name for a shared value")
    assert shared(f"{{{'a' * 200}: 1}}") == f"1:10 R0109 '{'a' * 80}' is not a name for a shared value"
    assert shared("{a: }") == "1:10 R0109 the shared value a is empty"
    assert shared("{a: .inf}") == "1:10 R0109 the shared value a can't be written as JSON"
    assert shared(f"{{a: {'x' * 65534}}}") == {"a": "x" * 65534}
    assert shared(f"{{a: {'x' * 65535}}}") == "1:10 R0109 the shared value a has 65537 bytes, more than 65536"
    assert "Facts" in shared("{a: '{{ Facts.nothing.here }}'}")


def test_a_secret_is_never_shared(tmp_path):
    text = "data: {key: ENC}\nshares: {a: \"{{ secret('s3cr3t') }}\"}\nresources: []\n"
    assert loaded(tmp_path, text) == "2:10 R0109 the shared value a contains a secret"


def test_a_value_is_shared_by_one_manifest_only(tmp_path):
    (tmp_path / "child.yaml").write_text("shares: {a: 1}\nresources: []\n")
    text = "shares: {a: 2}\nresources:\n  - apply: [child.yaml: {}]\n"
    assert "R0104 the value a is shared twice" in loaded(tmp_path, text)
    assert loaded(tmp_path, text.replace("{a: 2}", "{b: 2}")) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "shared requires a name"),
        ("'a/b'", "'a/b' is not a name for a shared value"),
        ("repeat('a', 200)", f"shared: '{'a' * 80}' is not a name for a shared value"),
        ("'a', 'web*'", "'web*' chooses no hosts"),
        ("'a', 'group:'", "'group:' chooses no hosts"),
        ("'a', '', -1", "the minimum can't be -1"),
        ("'a', '', 1000001", "the minimum can't be 1000001"),
        ("'a', '', '2'", "shared requires a name"),
        ("'a', '', 1, 2", "shared requires a name"),
    ],
)
def test_wrong_arguments_are_errors_at_load(tmp_path, arguments, problem):
    text = f'resources:\n  - exec: [/bin/true: {{environment: {{A: "{{{{ toJSON(shared({arguments})) }}}}"}}}}]\n'
    assert problem in loaded(tmp_path, text, SharedValues(None))


def test_a_million_hosts_can_be_waited_for(tmp_path):
    text = (
        "resources:\n  - exec: [/bin/true: {environment: {A: \"{{ toJSON(shared('a', '', 1000000)) }}\"}}]\n"
    )
    assert loaded(tmp_path, text, SharedValues(None)) == {}


def test_a_run_without_a_fleet_can_not_know_what_hosts_share(tmp_path):
    text = "resources:\n  - exec: [/bin/true: {environment: {A: \"{{ toJSON(shared('a')) }}\"}}]\n"
    assert "this run belongs to no fleet" in loaded(tmp_path, text)
    assert loaded(tmp_path, text, SharedValues(None)) == {}  # as when it is packed
    kv = text.replace("shared('a')", "kvGet('a', 'b')")
    assert "kvGet: the servers of a fleet give its hosts no buckets" in loaded(
        tmp_path, kv, SharedValues(None)
    )
    assert "no key-value store is configured" in loaded(tmp_path, kv)


class Reader:
    """What one host reads, with a connection of its own."""

    def __init__(self, path):
        self.values = SharedValues(str(path))
        self.values.prepare()
        self.told = []

    def read(self, name, where="", minimum=0):
        return self.values.read("shared", (name, where, str(minimum)), briefly=False)

    async def until(self, wanted, *arguments, seconds=PATIENCE):
        """Wait until `shared` gives ``wanted``."""
        with trio.fail_after(seconds):
            while self.read(*arguments).value != wanted:  # noqa: ASYNC110 - another task writes a file
                await trio.sleep(0.01)


DAMAGED = (
    b"",
    b"{",
    b'{"v":1}',
    b"[1]",
    b'{"v":1,"groups":[3]}',
    b"[" * 100_000,
    b"\xff",
    b'{"groups":[],"v":"' + b"x" * 140_000 + b'"}',
)


async def operator_writes(fleet, documents):
    async with fleet.fleet_server.connected() as js:
        for number, each in enumerate(documents):
            await js.key_value(SHARED).put(f"x{number}.n", each)


async def test_groups_choose_hosts_and_damaged_values_are_none(fleet, tmp_path):
    reader = Reader(tmp_path)
    server = fleet.fleet_server
    async with server.connected("a1") as a1, server.connected("a2") as a2, trio.open_nursery() as nursery:
        first, second = SharesPublisher("a1", ["eu"]), SharesPublisher("a2", ["us", "canary"])
        first.take({"n": {"port": 1}, "other": "x"})
        second.take({"n": [2]})
        for publisher, js in ((first, a1), (second, a2)):
            nursery.start_soon(publisher.run, js, reader.told.append)
        nursery.start_soon(reader.values.run, a2, reader.told.append)
        assert reader.read("n").value is None
        assert reader.read("n").may_pass
        await reader.until({"a1": {"port": 1}, "a2": [2]}, "n")
        assert reader.read("n", "group:eu").value == {"a1": {"port": 1}}
        assert reader.read("n", "group:no").value == {}
        assert reader.read("n", "group:eu", 2).value is None
        assert "1 host, and 2 are needed" in reader.read("n", "group:eu", 2).problem.message

        with pytest.raises(DeniedError):
            await a2.key_value(SHARED).put("a1.n", b'{"v":"evil","groups":["eu"]}')
        await operator_writes(fleet, DAMAGED)
        first.take({"n": {"port": 9}})
        await reader.until({"a1": {"port": 9}, "a2": [2]}, "n")
        async with server.connected() as js:
            with trio.fail_after(PATIENCE):
                while [each.key for each in await shared_values(js, "other")]:  # noqa: ASYNC110 - a server
                    await trio.sleep(0.02)
        nursery.cancel_scope.cancel()
    assert reader.told == []


async def test_the_last_values_hold_while_the_network_is_away_and_changes_arrive_later(fleet, tmp_path):
    reader = Reader(tmp_path)
    server = fleet.fleet_server
    publisher = SharesPublisher("b1", [])
    publisher.take({"away": 1})
    async with server.connected("b1") as js, trio.open_nursery() as nursery:
        nursery.start_soon(publisher.run, js, reader.told.append)
        nursery.start_soon(reader.values.run, js, reader.told.append)
        await reader.until({"b1": 1}, "away")
        server.server.kill()
        publisher.take({"away": 2})
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert reader.read("away").value == {"b1": 1}
        assert SharedValues(str(tmp_path)).read("shared", ("away", "", "1"), briefly=True).value == {"b1": 1}
        server.server.start()
        await reader.until({"b1": 2}, "away", seconds=PATIENCE)
        nursery.cancel_scope.cancel()


async def test_a_file_changes_at_most_once_a_second(fleet, tmp_path):
    reader = Reader(tmp_path)
    async with fleet.fleet_server.connected("c1") as js, trio.open_nursery() as nursery:
        await js.key_value(SHARED).put("c1.many", b'{"v":0,"groups":[]}')
        nursery.start_soon(reader.values.run, js, reader.told.append)
        await reader.until({"c1": 0}, "many")
        seen, began = set(), trio.current_time()
        for number in range(1, 101):
            await js.key_value(SHARED).put("c1.many", json.dumps({"v": number, "groups": []}).encode())
            seen.add(os.stat(reader.values.path("many")).st_ino)
        assert len(seen) <= 2 + trio.current_time() - began
        await reader.until({"c1": 100}, "many")
        nursery.cancel_scope.cancel()


async def test_a_flood_of_forged_hints_is_a_read_a_second(fleet, tmp_path, monkeypatch):
    """They name a revision that there will never be, so no read is the last."""
    reader, reads = Reader(tmp_path), []
    read = shared_values_module.last_messages

    async def counted(*what):
        reads.append(trio.current_time())
        return await read(*what)

    monkeypatch.setattr(shared_values_module, "last_messages", counted)
    async with (
        fleet.fleet_server.connected("c1") as js,
        fleet.fleet_server.connected() as operator,
        trio.open_nursery() as nursery,
    ):
        await js.key_value(SHARED).put("c1.flood", b'{"v":0,"groups":[]}')
        nursery.start_soon(reader.values.run, js, reader.told.append)
        await reader.until({"c1": 0}, "flood")
        with trio.move_on_after(1.5):
            while True:
                await operator.connection.publish(
                    "reactor.changed.shared.flood.c1", headers={"Nats-Sequence": str(10**9)}
                )
                await trio.sleep(0.005)
        assert 2 <= len(reads) <= 12
        await js.key_value(SHARED).put("c1.flood", b'{"v":1,"groups":[]}')
        await reader.until({"c1": 1}, "flood", seconds=PATIENCE)
        nursery.cancel_scope.cancel()
