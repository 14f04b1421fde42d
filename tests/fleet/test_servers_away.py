"""The servers stop while commands of an operator follow the fleet: each says so, and goes on when they are back."""

import os

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE, NatsServer
from processes_of_cli import spawned
from real_hosts import RealFleet

from reactor.fleet.bucket_names import COUNTS
from reactor.fleet.operator import session
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS
from reactor.fleet.operator.session import follow_servers, operator_session, save_servers


@pytest.fixture
def fleet(tmp_path):
    """A fleet with a release and no hosts."""
    made = RealFleet(tmp_path)
    made.start()
    save_servers(str(tmp_path / "operator"), [made.fleet_server.server.url], None)

    async def release():
        async with made.operator() as js:
            await made.put(js, "web", "")

    trio.run(release)
    yield made
    made.fleet_server.server.kill()


def stop_and_start(fleet, process):
    """Restart the server; return what the process says meanwhile."""
    server = fleet.fleet_server.server
    server.kill()
    lost = process.stderr.readline().decode()
    assert lost.startswith(f"lost the connection to the NATS server {server.url}, trying again: ")
    server.start()
    said = []
    while f"the NATS server {server.url} answers again\n" not in said:
        said.append(process.stderr.readline().decode())
    return said


def test_who_watches_is_told_and_sees_the_next_change(fleet, tmp_path):
    with spawned("fleet", "status", "--watch", "--home", tmp_path / "operator") as process:
        assert process.stdout.readline() == b"web: release 1 done; no hosts\n"
        stop_and_start(fleet, process)

        async def release():
            async with fleet.operator() as js:
                await fleet.put(js, "web", "")

        trio.run(release)
        assert process.stdout.readline() == b"web: release 2 done; no hosts\n"


def test_who_watches_is_told_when_the_server_knows_the_user_no_more(fleet, tmp_path):
    server = fleet.fleet_server.server
    with spawned("fleet", "status", "--watch", "--home", tmp_path / "operator") as process:
        assert process.stdout.readline() == b"web: release 1 done; no hosts\n"
        server.kill()
        assert process.stderr.readline().startswith(b"lost the connection to ")
        (tmp_path / "other").mkdir()
        other = FleetServer(tmp_path / "other").server
        other.port = server.port
        with other:
            refused = f"the NATS server {server.url} refuses the credentials "
            assert process.stderr.readline().decode().startswith(refused)


def test_counting_goes_on_when_the_servers_are_back(fleet, tmp_path):
    async def counted(after):
        """The revision of the first counts that come ``after`` a revision."""
        async with fleet.operator() as js:
            with trio.fail_after(PATIENCE):
                async with js.key_value(COUNTS).watch("web") as entries:
                    async for entry in entries:
                        if entry is not None and entry.revision > after:
                            return entry.revision
        return None

    with spawned("fleet", "count", "--home", tmp_path / "operator") as process:
        before = trio.run(counted, 0)
        said = stop_and_start(fleet, process)
        assert not any(each.startswith("error") for each in said)
        assert (
            trio.run(counted, before + 1) > before
        )  # one may have been written while the server was stopped
        process.terminate()
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("is_up", [True, False])
async def test_what_follows_goes_to_the_servers_that_are_named_later(fleet, tmp_path, monkeypatch, is_up):
    monkeypatch.setattr(session, "INTERVAL", 0.01)
    home, old = str(tmp_path / "operator"), fleet.fleet_server.server
    accounts = (
        (tmp_path / "operator/accounts.conf").read_text().replace('dir: "accounts"', 'dir: "{directory}/jwt"')
    )
    with NatsServer(tmp_path / "new", accounts) as new:
        async with operator_session(home, seconds=PATIENCE) as js, trio.open_nursery() as nursery:
            connection = js.connection
            nursery.start_soon(follow_servers, connection, home, OPERATOR_CREDENTIALS)
            with connection.messages("reactor.join") as messages:
                (tmp_path / "operator/servers.json").write_text('{"servers": [')  # half a copy
                if not is_up:
                    old.kill()
                arrived = trio.Event()
                with connection.watched(lambda status: arrived.set() if status.up else None):
                    save_later(home, [new.url])
                    with trio.fail_after(PATIENCE):
                        await arrived.wait()
                assert connection.status.server == new.url
                await connection.publish("reactor.join", b"host")
                with trio.fail_after(PATIENCE):
                    assert (await messages.get()).data == b"host"
            nursery.cancel_scope.cancel()


def save_later(home, urls):
    """Replace a damaged servers.json."""
    os.unlink(os.path.join(home, session.SERVERS))
    save_servers(home, urls, None)
