"""Hosts join, renew and are expelled on a real server; and what must not succeed."""

import os
import re
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE
from signers_of_tests import new_key, public

from reactor.fleet.documents import DocumentError
from reactor.fleet.enrolment.card import Card, CardError, SignedCard, sign_card
from reactor.fleet.enrolment.invitation import Invitation, Token, TokenError, secret_of
from reactor.fleet.enrolment.requests import SUBJECT, Answer, Received, Request
from reactor.fleet.host.config import HostConfigError, read_config
from reactor.fleet.host.join import NotAdmittedError, ask, join
from reactor.fleet.host.keys import FileKeys, age_recipient
from reactor.fleet.host.renewal import Renewal
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import DeniedError, IdentityError, LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.accounts import host_token
from reactor.fleet.operator.admission import Admission
from reactor.fleet.operator.expulsion import expel
from reactor.fleet.operator.hosts import admit_by_hand
from reactor.fleet.operator.invitations import TokenOptions, invite, withdraw
from reactor.fleet.operator.keyring import AdmittingKeys, Keyring, KeyringError
from reactor.fleet.operator.server_config import ADMITTING_CREDENTIALS, load_operator_directory
from reactor.fleet.operator.session import save_servers
from reactor.fleet.operator.shared_state import shared_values
from reactor.fleet.wire.nkeys import Key
from reactor.fleet.wire.tokens import claims_of, expiry_of
from reactor.trust.rule import DistrustedError

REFUSED = (DeniedError, LinkError)


class Fleet(FleetServer):
    """The server with an admitting service, tokens and hosts that join."""

    def __init__(self, directory):
        super().__init__(directory)
        self.signers = f"ann {public(new_key(directory, 'ann'))}\n"
        self.home = str(directory / "operator")

    def config(self, name):
        return str(self.directory / name / "fleet.yaml")

    async def invite(self, **wanted):
        defaults = {"channels": ("web",), "groups": ("eu",), "uses": 5, "life": 3600, "require": 1}
        async with self.connected() as js:
            keys = load_operator_directory(self.home).keys
            wishes = TokenOptions(**{**defaults, **wanted}, signers=self.signers)
            return await invite(js, keys, self.options(), None, wishes)

    @asynccontextmanager
    async def admitting(self, life=3600, **how):
        """An admitting service with its own user and its own keys only. Yields what it answered."""
        options = replace(self.options(), credentials=self.fleet_server.path(ADMITTING_CREDENTIALS))
        answered = []
        async with connected(options) as connection, trio.open_nursery() as nursery:
            admission = Admission(JetStream(connection), AdmittingKeys.load(self.home), life=life, **how)

            async def serve():
                with connection.messages(SUBJECT, queue="admit") as messages:
                    nursery.cancel_scope.shield = False
                    await connection.flush()
                    ready.set()
                    async for message in messages:
                        answered.append(await admission.answer(message.data))
                        await connection.publish(message.reply, answered[-1].data)

            ready = trio.Event()
            nursery.start_soon(serve)
            await ready.wait()
            yield answered
            nursery.cancel_scope.cancel()

    async def join(self, token, name, place=None, seconds=PATIENCE):
        return await join(token, name, self.config(place or name), facts={"os": "x"}, seconds=seconds)

    async def joined(self, name, **how):
        """A host that has joined; returns its configuration."""
        async with self.admitting(**how):
            await self.join(await self.invite(), name)
        return read_config(self.config(name))

    async def spec(self, name):
        async with self.connected() as js:
            return HostSpec.from_bytes((await js.key_value("reactor_hosts").get(name)).value, name)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    made = Fleet(tmp_path_factory.mktemp("fleet"))
    with made.server:
        save_servers(made.home, [made.server.url], None)
        trio.run(made.make_streams)
        yield made


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let a busy machine be late with an answer: a host that asks twice gets two."""
    monkeypatch.setattr("reactor.fleet.host.join._AGAIN", PATIENCE)


# --- joining


async def test_a_host_joins_and_does_what_a_host_may(fleet):
    token = await fleet.invite(require=1)
    assert Token.from_text(token.to_text()) == token
    async with fleet.admitting() as answered:
        done = await fleet.join(token, "web1")
    assert (done.card.host, done.card.channels, done.card.groups) == ("web1", ("web",), ("eu",))
    assert [each.request.facts for each in answered] == [{"os": "x"}]
    directory = Path(fleet.config("web1")).parent
    assert {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()} == {
        "fleet.yaml": 0o644,
        "fleet-card.json": 0o644,
        "fleet-signers": 0o644,
        "fleet.creds": 0o600,
        "fleet-age.key": 0o600,
    }
    config = read_config(fleet.config("web1"))
    assert (config.identity.id, config.identity.channels, config.identity.groups) == (
        "web1",
        ("web",),
        ("eu",),
    )
    assert [each.name for each in config.identity.signers] == ["ann"]
    assert age_recipient(str(directory / "fleet-age.key")) == done.card.age
    async with connected(config.options) as connection:
        js = JetStream(connection)
        assert await js.key_value("reactor_state").put("web1", b"summary")
        spec = await js.key_value("reactor_hosts").last("web1")
    assert HostSpec.from_bytes(spec.value, "web1").card.verified(config.card_key) == done.card


async def test_a_host_that_asks_again_gets_the_same_and_uses_the_token_once(fleet):
    token = await fleet.invite(uses=1)
    async with fleet.admitting():
        first = await fleet.join(token, "again")
        seed = Path(fleet.config("again")).with_name("fleet.creds").read_text().split()[-4]
        assert (await fleet.join(token, "again")).card == first.card
        assert seed in Path(fleet.config("again")).with_name("fleet.creds").read_text()
        with pytest.raises(NotAdmittedError, match="was used 1 times, as often as it may be"):
            await fleet.join(token, "other")


async def test_a_host_that_was_killed_while_it_joined_joins_with_the_keys_it_has(fleet):
    directory = Path(fleet.config("killed")).parent
    directory.mkdir()
    key = FileKeys.made(str(directory / "fleet.creds")).public
    async with fleet.admitting():
        assert (await fleet.join(await fleet.invite(), "killed")).card.key == key
    assert not (directory / "fleet.creds.key").exists()


async def test_a_host_that_joins_again_keeps_its_own_settings(fleet):
    """Without its windows it would take releases at any time, and without require from one person."""
    own = "windows: Mon-Thu 09:00-16:00\nfacts: {os: Facts.os}\nsummary_interval: 30\nrequire: 2\n"
    async with fleet.admitting():
        await fleet.join(await fleet.invite(), "settled")
        config = Path(fleet.config("settled"))
        config.write_text(config.read_text() + own)
        before = read_config(str(config))
        await fleet.join(await fleet.invite(), "settled")
    assert read_config(str(config)) == before
    assert (before.identity.require, before.pace.summary, len(before.identity.windows)) == (2, 30, 1)


async def test_nobody_takes_the_name_of_another(fleet):
    token = await fleet.invite()
    async with fleet.admitting():
        mine = await fleet.join(token, "web2")
        with pytest.raises(NotAdmittedError, match="there is a host web2 with other keys") as caught:
            await fleet.join(token, "web2", "thief")
    assert "reactor fleet expel web2 --rekey" in caught.value.hint
    assert (await fleet.spec("web2")).card.verified(token.card_key) == mine.card
    assert not Path(fleet.config("thief")).exists()


async def test_a_host_stays_who_it_is(fleet):
    async with fleet.admitting():
        await fleet.join(await fleet.invite(), "same")
        with pytest.raises(NotAdmittedError, match="this host is same already"):
            await fleet.join(await fleet.invite(), "else", "same")


async def test_without_a_service_the_host_waits_and_says_what_to_do(fleet):
    waits = []
    with pytest.raises(NotAdmittedError, match="nobody has admitted lonely") as caught:
        await join(
            await fleet.invite(),
            "lonely",
            fleet.config("lonely"),
            facts={},
            seconds=1,
            wait=lambda: waits.append(1),
        )
    assert "reactor fleet admit lonely" in caught.value.hint
    assert waits == [1]
    assert not Path(fleet.config("lonely")).exists()


async def test_what_a_machine_says_of_itself_controls_no_terminal(fleet, reactor, monkeypatch):
    """Its facts are shown before anybody has admitted it."""
    monkeypatch.setattr("reactor.fleet.host.join._AGAIN", 0.2)
    token, lie = await fleet.invite(), {"\x1b[2J": "\u202e\nweb1: channels web"}
    async with trio.open_nursery() as nursery:
        waiting = trio.Event()
        ask = partial(
            join, token, "liar", fleet.config("liar"), facts=lie, seconds=PATIENCE, wait=waiting.set
        )
        nursery.start_soon(ask)
        with trio.fail_after(PATIENCE):
            await waiting.wait()
            done = await trio.to_thread.run_sync(reactor, "fleet", "admit", "--home", fleet.home, "--list")
        nursery.cancel_scope.cancel()
    (line,) = done.out.splitlines()
    assert line.startswith("liar: channels web; \\x1b[2J \\u202e\\x0aweb1: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda token: replace(token, secret=bytes(32)), "not one of this fleet, or it was changed"),
        (
            lambda token: replace(token, invitation=token.invitation.replace('"web"', '"db"')),
            "not one of this fleet, or it was changed",
        ),
        (
            lambda token: replace(token, invitation=token.invitation.replace('"uses":5', '"uses":500')),
            "not one of this fleet, or it was changed",
        ),
    ],
    ids=("a forged secret", "another channel", "more uses"),
)
async def test_a_changed_token_admits_nobody(fleet, change, said):
    token = await fleet.invite()
    async with fleet.admitting():
        with pytest.raises(NotAdmittedError, match=said):
            await fleet.join(change(token), "forger")
    with pytest.raises(AttributeError):
        await fleet.spec("forger")


async def test_an_expired_and_a_withdrawn_token_admit_nobody(fleet):
    token = await fleet.invite()
    late = {"clock": lambda: time.time() + 7200}
    async with fleet.admitting(**late):
        with pytest.raises(NotAdmittedError, match="the token has expired"):
            await fleet.join(token, "late")
    async with fleet.connected() as js:
        assert await withdraw(js, token.invited.id)
        assert not await withdraw(js, token.invited.id)
    async with fleet.admitting():
        with pytest.raises(NotAdmittedError, match="the token was withdrawn"):
            await fleet.join(token, "late")


@pytest.mark.parametrize("ahead", [-86_400, 86_400])
async def test_a_token_is_good_for_as_long_as_it_says_whatever_the_clock_of_who_invites(
    fleet, monkeypatch, ahead
):
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda now=time.time: now() + ahead)
        token = await fleet.invite(life=3600)
    assert abs(token.invited.expires - time.time() - 3600) < 60
    assert expiry_of(token.jwt) == token.invited.expires


async def test_hosts_that_join_at_once_use_a_token_as_often_as_it_may_be(fleet):
    token, done = await fleet.invite(uses=3), []

    async def one(number):
        try:
            done.append((await fleet.join(token, f"crowd{number}")).card.host)
        except NotAdmittedError as error:
            done.append(error.message)

    async with fleet.admitting(), fleet.admitting(), trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(one, number)
    assert sum(each.startswith("crowd") for each in done) == 3
    assert sum("was used 3 times" in each for each in done) == 3


# --- attacks on the join


async def test_the_user_in_a_token_can_ask_to_join_and_do_nothing_else(fleet):
    token = await fleet.invite()
    prefix = f"_INBOX_join-{token.invited.id}"
    options = Options(
        servers=(fleet.server.url,), jwt=token.jwt, seed=token.seed, inbox_prefix=prefix, name="x"
    )
    heard = []
    async with fleet.connected() as operator, connected(options) as connection:
        js = JetStream(connection, seconds=0.3)
        before = (await operator.stream_info("KV_reactor_state"))["state"]["last_seq"]
        for attempt in (
            js.key_value("reactor_state").put("web1", b"evil"),
            js.key_value("reactor_state").put(f"join-{token.invited.id}", b"evil"),
            js.key_value("reactor_channels").last("web"),
            js.key_value("reactor_hosts").last("web1"),
            js.objects("reactor_bundles").info("sha256-x"),
            js.publish("reactor.event.web1", b"evil"),
            js.key_value("reactor_invitations").last(token.invited.id),
            js.stream_info("KV_reactor_hosts"),
        ):
            with pytest.raises(REFUSED):
                await attempt
        with (
            connection.subscribed(">", heard.append),
            connection.subscribed("reactor.changed.channel.*", heard.append),
            connection.subscribed("_INBOX.>", heard.append),
            connection.subscribed(SUBJECT, heard.append),
        ):
            await operator.key_value("reactor_channels").put("web", b"x")
            await connection.flush()
        assert heard == []
        assert (await operator.stream_info("KV_reactor_state"))["state"]["last_seq"] == before


async def test_a_replayed_request_gives_nothing_to_the_one_who_sends_it(fleet):
    """A server, or a thief of the token, sends the request of another host again: the answer is for its keys."""
    token = await fleet.invite()
    async with fleet.admitting() as answered:
        mine = await fleet.join(token, "replayed")
        sent = []
        key = FileKeys(str(Path(fleet.config("replayed")).with_name("fleet.creds")))
        request = Request("join", "replayed", key.public, mine.card.age, token.invitation)
        sent = request.sealed(key.sign, token.secret)
        async with fleet.connected("web9") as thief:
            for _ in range(2):
                answer = await ask(thief.connection, sent, token.card_key, request.nonce)
                assert claims_of(answer.jwt)["sub"] == key.public
    assert not any(each.refused for each in answered)
    assert (await fleet.spec("replayed")).card.verified(token.card_key) == mine.card


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "not valid JSON"),
        (b"x" * 20_000, "at most 16384"),
        (b"[" * 16_000, "not valid JSON"),
        (b'{"data":"{}","sig":""}', "has no field 'v'|version None"),
        (b'{"data":"{}","data":"{}"}', "a key is there twice"),
    ],
    ids=("empty", "oversized", "deep", "empty fields", "twice"),
)
async def test_a_damaged_request_is_refused_and_the_service_goes_on(fleet, sent, said):
    async with fleet.admitting() as answered, fleet.connected("web9") as host:
        answer = await host.connection.request(SUBJECT, sent)
        assert answer.data
        assert not answered[-1].request
        assert re.search(said, answered[-1].refused)
        await fleet.join(await fleet.invite(), "after")


def test_a_request_is_bound_to_its_key_and_its_secret():
    key, other, secret = Key.generate("user"), Key.generate("user"), bytes(range(32))
    request = Request("join", "web1", key.public, None, "{}")
    received = Received.opened(request.sealed(key.sign, secret))
    assert received.request == request
    assert received.is_proven_by(secret)
    assert not received.is_proven_by(bytes(32))
    assert not Received.opened(request.sealed(key.sign)).is_proven_by(secret)
    with pytest.raises(CardError, match="not signed by its own key"):
        Received.opened(request.sealed(other.sign, secret))
    for bad in ({"host": "a.b"}, {"host": "*"}, {"key": "UX"}, {"age": "age1x"}, {"kind": "evil"}):
        with pytest.raises(DocumentError):
            Received.opened(replace(request, **bad).sealed(key.sign, secret))
    account = Key.generate("account")
    with pytest.raises(DocumentError, match="not the public nkey of a user"):
        Received.opened(replace(request, key=account.public).sealed(account.sign, secret))


HOSTILE = {
    "of another key of cards": lambda answer, cards, _: answer.sealed(Key.generate("server")),
    "an answer to another request": lambda answer, cards, _: replace(answer, nonce="0" * 32).sealed(cards),
    "a card for another host": lambda answer, cards, card: replace(
        answer, card=sign_card(replace(card, host="db1"), cards)
    ).sealed(cards),
    "a card for another key": lambda answer, cards, card: replace(
        answer, card=sign_card(replace(card, key=Key.generate("user").public), cards)
    ).sealed(cards),
    "a card for another age key": lambda answer, cards, card: replace(
        answer, card=sign_card(replace(card, age=None), cards)
    ).sealed(cards),
    "a card that nobody signed": lambda answer, cards, card: replace(
        answer, card=SignedCard(card.to_bytes().decode(), "AAAA")
    ).sealed(cards),
    "other signers": lambda answer, cards, _: replace(answer, signers="mallory ssh-ed25519 AAAA\n").sealed(
        cards
    ),
    "no signers": lambda answer, cards, _: replace(answer, signers=None).sealed(cards),
    "a JWT with a line break": lambda answer, cards, _: replace(
        answer, jwt=answer.jwt + "\n-----BEGIN USER NKEY SEED-----\nSU"
    ).sealed(cards),
    "a JWT for another host": lambda answer, cards, card: replace(
        answer,
        jwt=host_token(AdmittingKeys("A", Key.generate("account"), cards, cards), "db1", card.key, 2**33),
    ).sealed(cards),
    "a JWT without end": lambda answer, cards, card: replace(
        answer,
        jwt=host_token(AdmittingKeys("A", Key.generate("account"), cards, cards), card.host, card.key, None),
    ).sealed(cards),
    "no JSON": lambda *_: b"{",
    "an endless answer": lambda *_: b'{"data":"' + b"x" * 70_000,
    "a refusal that nobody signed": lambda *_: b'{"data":"{\\"refused\\":\\"go away\\"}","sig":""}',
}


@pytest.mark.parametrize("attack", HOSTILE)
async def test_a_host_believes_no_answer_but_that_of_its_fleet(fleet, attack):
    token, keys = await fleet.invite(), Keyring.load(fleet.home)
    async with fleet.connected() as js:
        good = Admission(js, keys.admitting)

        async def answer(message):
            received = Received.opened(message.data)
            signed = good._new_card(received.request, token.invited)
            honest = Answer(
                received.request.nonce,
                jwt=good._token(received.request),
                card=signed,
                signers=fleet.signers,
            )
            card = signed.verified(keys.cards.public)
            await js.connection.publish(message.reply, HOSTILE[attack](honest, keys.cards, card))

        async with trio.open_nursery() as nursery:
            with js.connection.subscribed(SUBJECT, lambda each: nursery.start_soon(answer, each)):
                await js.connection.flush()
                with pytest.raises((CardError, DocumentError)):
                    await fleet.join(token, "victim")
    directory = Path(fleet.config("victim")).parent
    assert {path.name for path in directory.iterdir()} <= {"fleet.creds.key", "fleet-age.key"}


async def test_symlinks_beside_the_configuration_are_replaced_and_not_followed(fleet, tmp_path):
    place = tmp_path / "etc"
    place.mkdir()
    target = tmp_path / "target"
    for name in ("fleet-signers", "fleet-card.json"):
        (place / name).symlink_to(target)
    async with fleet.admitting():
        await join(await fleet.invite(), "linked", str(place / "fleet.yaml"), facts={}, seconds=PATIENCE)
    assert not target.exists()
    assert not any(path.is_symlink() for path in place.iterdir())


async def test_a_directory_that_others_can_write_to_is_refused(fleet, tmp_path):
    place = tmp_path / "etc"
    place.mkdir()
    place.chmod(0o777)
    token = await fleet.invite()
    async with fleet.admitting():
        with pytest.raises(DistrustedError):
            await join(token, "open", str(place / "fleet.yaml"), facts={}, seconds=PATIENCE)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "reactor-join-1.", "reactor-join-1.e30", "reactor-join-1." + "A" * 70_000, "nats://x"]
)
def test_a_text_that_is_no_token_is_refused(text):
    with pytest.raises(TokenError):
        Token.from_text(text)


def test_a_token_of_another_version_is_not_called_damaged():
    with pytest.raises(TokenError, match="another version of reactor made this token") as caught:
        Token.from_text("reactor-join-2.e30")
    assert "install the version here that the operator has" in caught.value.hint


def test_the_secret_of_a_token_is_in_no_message():
    key = Key.generate("server")
    invitation = Invitation("a", ("web",), (), 1, 1e9)
    text = invitation.to_bytes()
    token = Token((), None, "", "sha256-" + "0" * 64, text.decode(), secret_of(text, key), "jwt", "SUseed")
    assert token.secret.hex() not in repr(token)
    with pytest.raises(TokenError) as caught:
        Token.from_text(token.to_text()[:-9] + "!")
    assert token.to_text()[20:40] not in str(caught.value)


# --- cards


async def test_a_host_believes_its_signed_card_only(fleet):
    await fleet.joined("card1")
    path = Path(fleet.config("card1"))
    card = path.with_name("fleet-card.json")
    text = card.read_text()
    card.write_text(text.replace("web", "dbs"))
    with pytest.raises(HostConfigError, match="not signed with the card key"):
        read_config(str(path))
    card.write_text(text)
    path.write_text(path.read_text().replace("id: card1", "id: card2"))
    with pytest.raises(HostConfigError, match="the card is for card1, and this host is card2"):
        read_config(str(path))
    path.write_text(path.read_text().replace("id: card2", "id: card1") + "channels: [web]\n")
    with pytest.raises(HostConfigError, match="channels and card exclude each other"):
        read_config(str(path))
    card.write_text("x" * 100_000)
    with pytest.raises(HostConfigError, match=r"exclude each other|at most"):
        read_config(str(path))


# --- renewal


async def test_credentials_are_renewed_with_the_key_of_the_host(fleet):
    config = await fleet.joined("renew1", life=1000)
    path = config.options.credentials
    key, told, renewed = FileKeys(path).public, [], trio.Event()
    clock = [time.time()]
    async with fleet.admitting(life=2000), connected(config.options) as connection:

        def tell(text):
            told.append(text)
            renewed.set()

        renewal = Renewal(connection, "renew1", path, config.card_key, on_notice=tell, clock=lambda: clock[0])
        due = renewal.due()
        assert 600 < due - clock[0] < 700
        clock[0] = due + 1
        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(renewal.run)
                await renewed.wait()
                nursery.cancel_scope.cancel()
        assert told == ["the credentials of renew1 are renewed"]
        assert 1900 < expiry_of(token_in(path)) - time.time() <= 2000
    assert FileKeys(path).public == key
    assert os.stat(path).st_mode & 0o777 == 0o600
    async with connected(config.options) as connection:
        assert await JetStream(connection).key_value("reactor_state").put("renew1", b"x")


def token_in(path):
    return Path(path).read_text().split("\n")[1]


async def test_nobody_renews_for_another_and_a_failure_keeps_what_is_there(fleet):
    config = await fleet.joined("renew2")
    await fleet.joined("renew3")
    before = Path(config.options.credentials).read_bytes()
    thief = FileKeys(str(Path(fleet.config("renew3")).with_name("fleet.creds")))
    async with fleet.admitting(), connected(config.options) as connection:
        request = Request("renew", "renew2", thief.public)
        answer = await ask(connection, request.sealed(thief.sign), config.card_key, request.nonce)
        assert "is not a host of this fleet with this key" in answer.refused
        assert answer.jwt is None
        renewal = Renewal(connection, "renew2", config.options.credentials, Key.generate("server").public)
        with pytest.raises(CardError):
            await renewal.renew()
    assert Path(config.options.credentials).read_bytes() == before


async def test_a_card_that_has_changed_comes_with_the_next_renewal_and_an_older_one_does_not(fleet):
    config, told = await fleet.joined("renew4"), []
    keys, path = FileKeys(config.options.credentials), Path(config.card)
    cards, before = fleet.fleet_server.keys.cards, path.read_bytes()

    async def renewed(issued, channel):
        card = Card("renew4", keys.public, None, (channel,), (), issued)
        spec = HostSpec("renew4", (channel,), card=sign_card(card, cards))
        await operator.key_value("reactor_hosts").put("renew4", spec.to_bytes())
        credentials, tell = config.options.credentials, told.append
        await Renewal(
            connection, "renew4", credentials, config.card_key, card=config.card, on_notice=tell
        ).renew()

    async with fleet.admitting(), fleet.connected() as operator, connected(config.options) as connection:
        await renewed(1_600_000_000.0, "old")
        assert path.read_bytes() == before
        await renewed(time.time() + 10, "db")
    assert told[-1] == "the card of renew4 has changed: restart this run to follow db"
    assert path.stat().st_mode & 0o777 == 0o644
    assert read_config(fleet.config("renew4")).identity.channels == ("db",)


# --- expelling


async def test_an_expelled_host_is_disconnected_at_once_and_stays_out(fleet):
    config = await fleet.joined("out1")
    async with fleet.connected() as operator:
        await operator.key_value("reactor_secrets").put("out1.db", b"cipher")
        await operator.key_value("reactor_secrets").put("web1.db", b"cipher")
        async with connected(config.options) as connection:
            host = JetStream(connection)
            await host.key_value("reactor_state").put("out1", b"the last summary")
            await host.key_value("reactor_shared").put("out1.pg", b"value")
            await host.publish("$KV.reactor_shared.out1.\u202e", b"of a name that is none")
            await host.publish("$KV.reactor_slots.app.0.out1", b"without an end")
            with connection.watched(lambda status: None if status.up else gone.set()):
                gone = trio.Event()
                assert await expel(operator, load_operator_directory(fleet.home), "out1", rejoins=False)
                with trio.fail_after(PATIENCE):
                    await gone.wait()
        assert (await operator.key_value("reactor_state").get("out1")).value == b"the last summary"
        assert await operator.key_value("reactor_secrets").keys("out1.*") == []
        assert await operator.key_value("reactor_shared").keys("out1.*") == ["out1.\u202e"]
        assert await operator.key_value("reactor_slots").keys() == []
        assert await shared_values(operator, None) == []
        assert await operator.key_value("reactor_secrets").keys("web1.*") == ["web1.db"]
    with pytest.raises(IdentityError):
        async with connected(config.options):
            pass
    spec = await fleet.spec("out1")
    assert (spec.channels, spec.card, spec.rejoins) == ((), None, False)
    assert spec.expelled > time.time() - 60
    token = await fleet.invite()
    async with fleet.admitting():
        for place in ("out1", "fresh"):
            with pytest.raises(NotAdmittedError, match=r"was revoked|was expelled"):
                await fleet.join(token, "out1", place)
        # The same keys under another name: the JWT that they get is void.
        key = FileKeys(config.options.credentials)
        request = Request("join", "out2", key.public, None, token.invitation)
        async with fleet.connected("web9") as asks:
            answer = await ask(
                asks.connection, request.sealed(key.sign, token.secret), token.card_key, request.nonce
            )
    key.save(answer.jwt)
    with pytest.raises(IdentityError):
        async with connected(replace(config.options, inbox_prefix="_INBOX_out2")):
            pass


async def test_a_machine_that_was_installed_anew_joins_with_new_keys(fleet):
    old = await fleet.joined("anew")
    async with fleet.connected() as operator:
        await expel(operator, load_operator_directory(fleet.home), "anew", rejoins=True)
    async with fleet.admitting():
        token = await fleet.invite(channels=("db",))
        with pytest.raises(NotAdmittedError, match="was revoked") as caught:
            await fleet.join(token, "anew")
        assert caught.value.hint.startswith("remove fleet.creds beside fleet.yaml on the host")
        done = await fleet.join(token, "anew", "reinstalled")
        assert done.card.channels == ("db",)
        with pytest.raises(NotAdmittedError, match="with other keys"):
            await fleet.join(token, "anew", "third")
    with pytest.raises(IdentityError):
        async with connected(old.options):
            pass
    async with connected(read_config(fleet.config("reinstalled")).options) as connection:
        assert await JetStream(connection).key_value("reactor_state").put("anew", b"x")


async def test_a_revocation_survives_a_restart_with_an_old_accounts_file_and_two_operators(fleet, tmp_path):
    first = await fleet.joined("two1")
    second = await fleet.joined("two2")
    files = load_operator_directory(fleet.home)
    async with fleet.connected() as operator:
        await expel(operator, files, "two1", rejoins=False)
        await expel(operator, files, "two2", rejoins=False)  # ``files`` does not know the first
    fleet.server.kill()
    fleet.server.start()
    for config in (first, second):
        with pytest.raises(IdentityError):
            async with connected(replace(config.options, servers=(fleet.server.url,))):
                pass


async def test_a_host_that_may_join_again_is_also_admitted_by_hand(fleet):
    files = load_operator_directory(fleet.home)
    async with fleet.connected() as operator:
        await admit_by_hand(operator, files.keys, "byhand", ("web",))
        with pytest.raises(KeyringError, match="there is a host byhand already"):
            await admit_by_hand(operator, files.keys, "byhand", ("db",))
        await expel(operator, files, "byhand", rejoins=False)
        with pytest.raises(KeyringError, match="there is a host byhand already") as caught:
            await admit_by_hand(operator, files.keys, "byhand", ("db",))
        assert caught.value.hint.endswith("reactor fleet expel byhand --rekey")
        await expel(operator, files, "byhand", rejoins=True)
        await admit_by_hand(operator, files.keys, "byhand", ("db",))
    spec = await fleet.spec("byhand")
    assert (spec.channels, spec.expelled, spec.rejoins, len(spec.revoked_keys)) == (("db",), None, False, 1)
