"""Who may connect: passwords, tokens, nkeys, credentials; what is said when the server refuses."""

import os
import time

import pytest
import trio
from nats_accounts import SignedAccounts
from nats_servers import PATIENCE, NatsServer

from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import (
    ContextError,
    DeniedError,
    ExpiredError,
    ForeignServerError,
    IdentityError,
    UnreachableError,
)
from reactor.fleet.link.options import Options, Timing
from reactor.fleet.link.pauses import Outage, Pauses
from reactor.fleet.wire.nkeys import Key

KEY = Key("user", bytes(range(32)))
USERS = f"""
authorization {{ users: [
  {{ user: ann, password: right, permissions: {{ publish: {{ deny: ["no.>"] }}, subscribe: {{ deny: ["no.>"] }} }} }}
  {{ nkey: {KEY.public} }}
] }}
"""
SOON = Timing(first_refused_pause=0.01, longest_refused_pause=0.02)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with NatsServer(tmp_path_factory.mktemp("users"), USERS, jetstream=False) as running:
        yield running


@pytest.fixture(scope="module")
def accounts():
    return SignedAccounts()


@pytest.fixture(scope="module")
def signed(tmp_path_factory, accounts):
    with NatsServer(
        tmp_path_factory.mktemp("accounts"), accounts.configuration(), jetstream=False
    ) as running:
        yield running


async def try_to_connect(server, **options):
    async with connected(Options(servers=(server.url,), **options), seconds=PATIENCE) as link:
        await link.flush()
        return link


async def refusal(server, sort, **options):
    with pytest.raises(sort) as caught:
        await try_to_connect(server, origin="/c/CCM.json", **options)
    return f"{caught.value} | {caught.value.hint}".replace(server.url, "URL")


async def test_user_and_password_come_from_the_options_or_the_url(server):
    await try_to_connect(server, user="ann", password="right")
    url = server.url.replace("//", "//ann:right@")
    async with connected(Options(servers=(url,))) as link:
        assert link.status.server == server.url, "the password is in no message"


async def test_a_wrong_password_is_told_in_one_line(server):
    assert await refusal(server, IdentityError, user="ann", password="wrong") == (
        "the NATS server URL refuses the password of user 'ann': Authorization Violation"
        " | check user, password, token or credentials in /c/CCM.json, and the users of the server"
    )
    assert "refuses a client without user and password" in await refusal(server, IdentityError)
    assert "refuses the token" in await refusal(server, IdentityError, token="x")


async def test_a_token_is_accepted_and_never_shown(tmp_path):
    with NatsServer(tmp_path, 'authorization { token: "s3cret" }', jetstream=False) as running:
        await try_to_connect(running, token="s3cret")
        async with connected(Options(servers=(running.url.replace("//", "//s3cret@"),))):
            pass
        assert "s3cret" not in await refusal(running, IdentityError, token="s3cret1")


async def test_the_seed_in_a_file_is_accepted_and_a_refusal_names_the_file(server, tmp_path):
    path = tmp_path / "key.nk"
    path.write_text(KEY.seed + "\n")
    await try_to_connect(server, nkey=str(path))
    path.write_text(Key.generate().seed)
    assert f"refuses the nkey {path}" in await refusal(server, IdentityError, nkey=str(path))


async def test_files_that_cannot_be_used_are_named(server, tmp_path):
    path = tmp_path / "key.nk"
    assert await refusal(server, ContextError, nkey=str(path)) == (
        f"can't read the nkey file {path}: No such file or directory | check the path of the nkey file in /c/CCM.json"
    )
    path.write_text(KEY.seed[:-1] + ("A" if KEY.seed[-1] != "A" else "B"))
    assert "damaged: its checksum differs" in await refusal(server, ContextError, nkey=str(path))
    assert "Is a directory" in await refusal(server, ContextError, credentials=str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in await refusal(server, ContextError, credentials=f"{tmp_path}/pipe")
    path.write_bytes(b"\xff")
    assert "is not UTF-8" in await refusal(server, ContextError, credentials=str(path))
    assert (
        "has no block for the JWT"
        in (path.write_text("x"), await refusal(server, ContextError, credentials=str(path)))[1]
    )
    assert "no seed of its key" in await refusal(server, ContextError, jwt="a.b.c")


async def test_credentials_are_accepted(signed, accounts, tmp_path):
    path = tmp_path / "web7.creds"
    path.write_text(accounts.credentials("web7"))
    await try_to_connect(signed, credentials=str(path))


async def test_credentials_for_a_server_without_keys_are_not_used(tmp_path, accounts):
    path = tmp_path / "web7.creds"
    path.write_text(accounts.credentials("web7"))
    with NatsServer(tmp_path, jetstream=False) as running:
        text = await refusal(running, ForeignServerError, credentials=str(path))
    assert text.startswith(f"the NATS server URL takes no keys, so the credentials {path} can't be used")


async def test_an_expired_jwt_is_told_without_asking_the_server(signed, accounts, tmp_path):
    path = tmp_path / "web7.creds"
    path.write_text(accounts.credentials("web7", expires=1_700_000_000))
    assert await refusal(signed, ExpiredError, credentials=str(path)) == (
        f"the JWT in {path} expired on 2023-11-14 22:13:20 UTC"
        " | get new credentials, such as with `nsc generate creds`, and check the clock of this host"
    )


async def test_credentials_are_read_again_at_each_attempt(signed, accounts, tmp_path):
    """One that expires while it is in use, and is replaced."""
    told = []
    path = tmp_path / "web7.creds"
    path.write_text(accounts.credentials("web7", expires=int(time.time()) + 3))
    options = Options(servers=(signed.url,), credentials=str(path))
    refused = trio.Event()

    def note(problem):
        told.append(problem)
        if isinstance(problem, ExpiredError):
            refused.set()

    async with connected(options, on_problem=note, timing=SOON) as link:
        with trio.fail_after(PATIENCE):
            await refused.wait()
            path.write_text(accounts.credentials("web7"))
            while link.epoch < 2:
                await link.wait_up()
                await trio.lowlevel.checkpoint()
        await link.flush()


async def test_a_denied_subject_is_told_once_and_its_requests_end_at_once(server):
    told = []
    options = Options(servers=(server.url,), user="ann", password="right")
    async with connected(options, on_problem=told.append) as link:
        for _ in range(3):
            with trio.fail_after(PATIENCE), pytest.raises(DeniedError) as caught:
                await link.request("no.way", seconds=PATIENCE)
        assert str(caught.value) == f"the NATS server {server.url} does not let the user publish to no.way"
        with link.messages("no.listening"), link.subscribed("no.matter", print, optional=True):
            await link.flush()
        with link.messages("no.listening"):
            await link.flush()
        assert link.epoch == 1
    assert [str(each).partition("the user ")[2] for each in told] == [
        "publish to no.way",
        "subscribe to no.listening",
    ]


def paused(pauses, error, servers=1, times=1, **how):
    return [pauses.after(Outage(error, **how), servers) for _ in range(times)]


def test_pauses_double_are_jittered_and_become_short_again():
    down = UnreachableError("x")
    pauses = Pauses(Timing())
    for number, pause in enumerate(paused(pauses, down, times=12)):
        assert 0.5 * min(0.05 * 2**number, 10) <= pause <= 1.5 * min(0.05 * 2**number, 10)
    assert paused(pauses, down, lasted=4.9)[0] >= 5
    assert paused(pauses, down, lasted=5.0)[0] <= 0.075
    assert len({Pauses(Timing()).after(Outage(down), 1) for _ in range(20)}) > 15


def test_each_server_is_tried_before_the_pause_grows():
    pauses = Pauses(Timing())
    assert max(paused(pauses, UnreachableError("x"), servers=3, times=3)) <= 0.075
    assert min(paused(pauses, UnreachableError("x"), servers=3, times=3)) >= 0.05


def test_a_refused_user_is_tried_again_after_seconds_and_then_minutes():
    pauses = Pauses(Timing())
    for number, pause in enumerate(paused(pauses, IdentityError("x"), times=10)):
        assert 0.5 * min(5 * 2**number, 300) <= pause <= 1.5 * min(5 * 2**number, 300)
    assert paused(pauses, UnreachableError("x"), lasted=1.0)[0] <= 0.075
    assert paused(pauses, IdentityError("x"))[0] <= 7.5


def test_who_is_asked_to_go_elsewhere_goes_at_once_if_there_is_another():
    assert paused(Pauses(Timing()), UnreachableError("x"), servers=2, moving=True) == [0.0]
    assert paused(Pauses(Timing()), UnreachableError("x"), servers=1, moving=True)[0] > 0


@pytest.mark.parametrize(("replaced", "most"), [(True, 6), (False, 450)])
async def test_a_refused_host_that_joins_again_does_not_wait_for_minutes(
    tmp_path, autojump_clock, replaced, most
):
    file = tmp_path / "fleet.creds"
    file.write_text("old")
    pauses = Pauses(Timing(first_refused_pause=300), str(file))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pauses.wait, Outage(IdentityError("refused")), 1)
        await trio.sleep(1)
        if replaced:
            (tmp_path / "new").write_text("new")
            (tmp_path / "new").rename(file)
    assert (trio.current_time() < 100) is replaced
    assert trio.current_time() <= most
