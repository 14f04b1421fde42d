"""A machine of an operator is lost: its credentials are good no more, on a real server."""

import shutil
import time
from pathlib import Path

import pytest
import trio
from fleet_server import FleetServer
from known_fleet import remember
from nats_servers import PATIENCE

from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import IdentityError
from reactor.fleet.operator.accounts import revoked_in
from reactor.fleet.operator.expulsion import revoke
from reactor.fleet.operator.server_config import (
    ADMITTING_CREDENTIALS,
    OPERATOR_CREDENTIALS,
    SYSTEM_CREDENTIALS,
    load_operator_directory,
)
from reactor.fleet.operator.session import operator_options
from reactor.fleet.wire.nkeys import Key

USERS = (OPERATOR_CREDENTIALS, SYSTEM_CREDENTIALS, ADMITTING_CREDENTIALS)


@pytest.fixture
def fleet(tmp_path):
    made = FleetServer(tmp_path)
    with made.server:
        remember(made)
        trio.run(made.make_streams)
        yield made


@pytest.fixture
def lost(fleet, tmp_path):
    """The directory on a machine that is lost."""
    place = tmp_path / "laptop"
    place.mkdir()
    for name in (*USERS, "servers.json"):
        shutil.copy(fleet.fleet_server.path(name), place)
    return str(place)


async def are_refused(home):
    """The credentials in ``home`` that the server refuses."""
    found = set()
    for user in USERS:
        try:
            async with connected(operator_options(home, user), seconds=PATIENCE):
                pass
        except IdentityError:
            found.add(user)
    return found


def test_the_credentials_of_a_lost_machine_are_good_no_more(fleet, lost, reactor):
    home = fleet.fleet_server.directory
    assert trio.run(are_refused, lost) == set()

    done = reactor("fleet", "revoke", "--home", home)
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        *(f"wrote {home}/{name}" for name in USERS),
        "the credentials of before are revoked on one",
    ]
    assert trio.run(are_refused, lost) == set(USERS)
    assert trio.run(are_refused, home) == set()
    assert reactor("fleet", "hosts", "--home", home).code == 0

    again = reactor("fleet", "hosts", "--home", lost)
    assert again.code == 1
    assert "reactor fleet revoke" in again.err


async def test_who_is_connected_is_disconnected_and_hosts_stay(fleet, lost, reactor):
    async with (
        connected(operator_options(lost), seconds=PATIENCE) as stolen,
        fleet.connected("web7") as host,
    ):
        gone = trio.Event()
        with stolen.watched(lambda status: None if status.up else gone.set()):
            await trio.to_thread.run_sync(
                lambda: reactor("fleet", "revoke", "--home", fleet.fleet_server.directory)
            )
            with trio.fail_after(PATIENCE):
                await gone.wait()
        await host.connection.flush()
        assert host.connection.status.up


def test_a_server_that_starts_with_the_old_accounts_forgets_nothing(fleet, lost, reactor):
    home = fleet.fleet_server.directory
    assert reactor("fleet", "revoke", "--home", home).code == 0
    fleet.server.kill()
    fleet.server.start()
    assert trio.run(are_refused, lost) == set(USERS)
    assert trio.run(are_refused, home) == set()


def test_init_keeps_what_is_revoked_and_a_second_time_revokes_the_second_ones(fleet, lost, reactor, tmp_path):
    home = fleet.fleet_server.directory
    assert reactor("fleet", "revoke", "--home", home).code == 0
    assert reactor("fleet", "init", fleet.server.url, "--home", home).out == "all is as it should be\n"
    second = tmp_path / "second"
    shutil.copytree(home, second)
    assert reactor("fleet", "revoke", "--home", home).code == 0
    assert trio.run(are_refused, str(second)) == set(USERS)
    assert trio.run(are_refused, lost) == set(USERS)
    assert trio.run(are_refused, home) == set()
    # A new server that has only the file of the accounts knows it too.
    assert "resolver_preload" in Path(fleet.fleet_server.path("accounts.conf")).read_text()


def test_init_lets_a_second_directory_and_servers_that_lost_their_disks_know_what_is_revoked(
    fleet, reactor, tmp_path
):
    home, second = fleet.fleet_server.directory, str(tmp_path / "second")
    shutil.copytree(home, second)
    keys = [Key.generate("user").public for _ in range(2)]
    for key, place in zip(keys, (home, second), strict=True):
        trio.run(revoke, load_operator_directory(place), [key])
    learns = reactor("fleet", "init", fleet.server.url, "--home", home)
    assert (learns.code, learns.out) == (0, f"wrote {home}/accounts.conf\ngave the account HOSTS to one\n")
    assert revoked_in(load_operator_directory(home).tokens["HOSTS"]).keys() == set(keys)
    assert reactor("fleet", "init", fleet.server.url, "--home", home).out == "all is as it should be\n"

    fleet.server.kill()
    shutil.rmtree(tmp_path / "jwt")
    fleet.server.start()
    gives = reactor("fleet", "init", fleet.server.url, "--home", home)
    assert (gives.code, gives.out) == (0, "gave the account HOSTS to one\n")
    assert reactor("fleet", "init", fleet.server.url, "--home", home).out == "all is as it should be\n"


def test_without_a_server_nothing_is_said_to_be_revoked(fleet, lost, reactor):
    fleet.server.kill()
    done = reactor("fleet", "revoke", "--home", fleet.fleet_server.directory)
    assert done.code == 1
    assert "revoked" not in done.out
    fleet.server.start()
    home = fleet.fleet_server.directory
    assert trio.run(are_refused, home) == set()
    assert reactor("fleet", "revoke", "--home", home).code == 0
    assert trio.run(are_refused, lost) == set(USERS)


@pytest.mark.parametrize(("wrong_by", "side"), [(600, "ahead of"), (-600, "behind")])
def test_with_a_wrong_clock_nothing_is_revoked_and_no_file_changes(fleet, lost, reactor, wrong_by, side):
    """The time of a revocation would be wrong: it would miss credentials, or refuse later ones."""
    home = fleet.fleet_server.directory
    before = {name: Path(home, name).read_bytes() for name in USERS}
    with pytest.MonkeyPatch.context() as clock:
        now = time.time
        clock.setattr(time, "time", lambda: now() + wrong_by)
        done = reactor("fleet", "revoke", "--home", home)
    assert (done.code, done.out) == (1, "")
    assert f"nothing is revoked: the clock of this machine is 600 s {side} that of the server" in done.err
    assert {name: Path(home, name).read_bytes() for name in USERS} == before
    assert trio.run(are_refused, lost) == set()
