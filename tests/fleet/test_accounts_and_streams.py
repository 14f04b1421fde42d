"""The accounts and streams on a real server, and every attack of a host on the others."""

import json
import time
from contextlib import suppress

import pytest
import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE

from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import (
    ApiError,
    DeniedError,
    ExpiredError,
    IdentityError,
    LinkError,
    NoAnswerError,
    NoRespondersError,
    TooLargeError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.accounts import operator_user
from reactor.fleet.operator.credentials_life import expiry_in
from reactor.fleet.operator.doctor.judgements import room_check, stream_check
from reactor.fleet.operator.expulsion import expel
from reactor.fleet.operator.keyring import Keyring, KeyringError, now, save_credentials
from reactor.fleet.operator.server_config import (
    CONFIG,
    SYSTEM_CREDENTIALS,
    load_operator_directory,
    make_operator_directory,
)
from reactor.fleet.operator.session import operator_session
from reactor.fleet.operator.streams import differing_fields, make_streams, wanted_streams
from reactor.fleet.wire.credentials import Credentials
from reactor.fleet.wire.nkeys import Key
from reactor.fleet.wire.tokens import signed_token

REFUSED = (DeniedError, NoAnswerError, ApiError)


def test_init_again_changes_nothing(tmp_path):
    first = make_operator_directory(str(tmp_path / "operator"))
    assert set(first.changed) == {
        "keys.json",
        "accounts.json",
        CONFIG,
        "operator.creds",
        SYSTEM_CREDENTIALS,
        "admit.creds",
        "admit.json",
    }
    before = {path.name: path.read_bytes() for path in (tmp_path / "operator").iterdir()}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "operator").iterdir()} == {0o600}
    assert make_operator_directory(str(tmp_path / "operator")).changed == ()
    assert {path.name: path.read_bytes() for path in (tmp_path / "operator").iterdir()} == before
    assert load_operator_directory(str(tmp_path / "operator")).tokens == first.tokens


LATER = ("joining", "cards", "invitations")


def test_credentials_that_expire_are_made_again_when_that_is_due(tmp_path, monkeypatch):
    users = {"operator.creds", "system.creds", "admit.creds"}
    day, now = 86_400, time.time()
    make_operator_directory(str(tmp_path))
    assert expiry_in(str(tmp_path / "operator.creds")) is None
    assert set(make_operator_directory(str(tmp_path), 90 * day).changed) == users
    assert make_operator_directory(str(tmp_path), 90 * day).changed == ()
    monkeypatch.setattr(time, "time", lambda: now + 75 * day)
    assert make_operator_directory(str(tmp_path)).changed == ()
    monkeypatch.setattr(time, "time", lambda: now + 77 * day)
    assert set(make_operator_directory(str(tmp_path)).changed) == users
    assert expiry_in(str(tmp_path / "admit.creds")) == pytest.approx(now + 167 * day, abs=60)


async def test_expired_credentials_of_an_operator_are_refused_with_the_way_to_renew_them(
    fleet, tmp_path, monkeypatch
):
    home = fleet.fleet_server
    expired = operator_user(home.keys, "operator", "fleet", int(time.time()) - 10)
    (tmp_path / "servers.json").write_text(json.dumps({"servers": [fleet.server.url], "ca": None}))
    save_credentials(str(tmp_path / "operator.creds"), expired)
    with pytest.raises(ExpiredError) as caught:
        async with operator_session(str(tmp_path)):
            pass
    assert "expired on " in caught.value.message
    assert caught.value.hint.startswith("renew them with reactor fleet init")


def test_keys_from_before_enrolment_get_what_is_missing(tmp_path):
    make_operator_directory(str(tmp_path))
    file = tmp_path / "keys.json"
    seeds = json.loads(file.read_text())
    old = {name: seed for name, seed in seeds.items() if name not in LATER}
    file.write_text(json.dumps(old))
    with pytest.raises(
        KeyringError, match="older version: there is no joining, cards, invitations"
    ) as caught:
        load_operator_directory(str(tmp_path))
    assert caught.value.hint == "add what is missing: reactor fleet init"
    assert json.loads(file.read_text()) == old

    made = make_operator_directory(str(tmp_path))
    assert set(made.changed) == {"keys.json", "accounts.json", CONFIG, "admit.json"}
    found = json.loads(file.read_text())
    assert {name: found[name] for name in old} == old
    assert set(found) == set(seeds)
    assert file.stat().st_mode & 0o777 == 0o600
    assert make_operator_directory(str(tmp_path)).changed == ()


def test_keys_that_lack_an_old_one_stay_damaged(tmp_path):
    make_operator_directory(str(tmp_path))
    file = tmp_path / "keys.json"
    file.write_text(damaged := json.dumps({"operator": json.loads(file.read_text())["operator"]}))
    with pytest.raises(KeyringError, match="can't be read"):
        make_operator_directory(str(tmp_path))
    assert file.read_text() == damaged


@pytest.mark.parametrize("name", ["operator.creds", "admit.json", "accounts.conf"])
def test_a_machine_with_a_part_of_the_directory_of_a_fleet_does_not_get_keys_of_another(tmp_path, name):
    make_operator_directory(str(tmp_path / "whole"))
    part = tmp_path / "part"
    part.mkdir()
    (tmp_path / "whole" / name).rename(part / name)
    with pytest.raises(KeyringError, match=f"has {name} of a fleet, and no keys.json") as caught:
        make_operator_directory(str(part))
    assert "where keys.json is" in caught.value.hint
    assert [each.name for each in part.iterdir()] == [name]


def test_keys_that_can_not_be_read_are_not_made_again(tmp_path):
    make_operator_directory(str(tmp_path))
    (tmp_path / "keys.json").write_text("{")
    with pytest.raises(KeyringError, match="can't be read") as caught:
        make_operator_directory(str(tmp_path))
    assert "restore it from a backup" in caught.value.hint
    assert (tmp_path / "keys.json").read_text() == "{"
    with pytest.raises(KeyringError, match="there are no keys of a fleet"):
        load_operator_directory(str(tmp_path / "other"))
    assert Keyring.load(str(tmp_path / "other")) is None


async def test_streams_made_again_are_not_changed_and_a_changed_one_is_put_right(fleet):
    async with fleet.connected() as js:
        assert await make_streams(js, wanted_streams()) == []
        there = (await js.stream_info("KV_reactor_state"))["config"]
        await js.update_stream("KV_reactor_state", {**there, "max_msgs_per_subject": 5})
        (change,) = await make_streams(js, wanted_streams())
        assert (change.stream, change.made, change.fields) == (
            "KV_reactor_state",
            False,
            ("max_msgs_per_subject",),
        )
        assert await make_streams(js, wanted_streams()) == []


@pytest.mark.parametrize(
    ("field", "value"), [("max_age", 4 * 10**9), ("max_msgs", 7), ("max_msg_size", 99), ("no_ack", True)]
)
async def test_limits_by_which_hosts_or_channels_would_vanish_are_removed(fleet, field, value):
    async with fleet.connected() as js:
        there = (await js.stream_info("KV_reactor_hosts"))["config"]
        odd = {**there, field: value, "duplicate_window": 10**9}
        await js.update_stream("KV_reactor_hosts", odd)
        assert "and not" in stream_check("KV_reactor_hosts", {"config": odd}, "init").problem
        (change,) = await make_streams(js, wanted_streams())
        assert (change.stream, change.fields) == ("KV_reactor_hosts", (field,))
        assert await make_streams(js, wanted_streams()) == []


async def test_a_setting_that_a_server_does_not_take_is_an_error(fleet):
    """As ``allow_msg_ttl`` of a server before 2.11; this one makes -1 of 0."""
    async with fleet.connected() as js:
        with pytest.raises(ApiError, match="does not take max_msgs_per_subject of the stream ODD") as caught:
            await make_streams(js, {"ODD": {"subjects": ["odd"], "max_msgs_per_subject": 0}})
        assert caught.value.hint == "use nats-server 2.11 or later"
        await js.delete_stream("ODD")


async def test_a_server_with_a_small_disk_gets_smaller_events(tmp_path):
    made = FleetServer(tmp_path)
    made.server._file.write_text(
        made.server._file.read_text().replace("jetstream { ", "jetstream { max_file: 3G, ")
    )
    with made.server:
        changes = await made.make_streams()
        assert {change.stream for change in changes} == set(wanted_streams())
        async with made.connected() as js:
            assert (await js.stream_info("REACTOR_EVENTS"))["config"]["max_bytes"] == 20 << 27
        assert await made.make_streams() == []


FILLED = {
    "KV_reactor_slots": ("$KV.reactor_slots.n{}.0.evil", 16_000),
    "KV_reactor_shared": ("$KV.reactor_shared.evil.n{}", 130_000),
    "REGISTRATION": ("choria.ccm.registration.v1.a.b.c.d.n{}", 65_000),
}


async def fill(js, subject, size):
    """Write until the stream refuses more, or has dropped what is old."""
    with suppress(ApiError):
        for number in range(1200):
            await js.publish(subject.format(number), b"x" * size)


async def test_a_host_that_writes_without_end_fills_no_disk_and_its_end_makes_room(fleet, tmp_path):
    async with fleet.connected("evil") as evil, fleet.connected("web1") as web1, fleet.connected() as js:
        for stream, (subject, size) in FILLED.items():
            await fill(evil, subject, size)
            info = await js.stream_info(stream)
            most = info["config"]["max_bytes"]
            assert 0.99 * most < info["state"]["bytes"] <= most <= 128 << 20
        await js.key_value("reactor_hosts").put("evil", HostSpec("evil", ("web",)).to_bytes())
        found = room_check({name: await js.stream_info(name) for name in wanted_streams()})
        assert all(name in found.problem for name in FILLED if name != "REGISTRATION")

        with pytest.raises(ApiError, match="maximum bytes exceeded"):
            await web1.publish("$KV.reactor_shared.web1.address", b"x" * 130_000)
        await expel(js, fleet.fleet_server, "evil", rejoins=False)
        await web1.key_value("reactor_shared").put("web1.address", b"{}")
        await web1.publish("$KV.reactor_slots.freed.0.web1", b"{}")


async def test_a_host_that_sends_events_without_end_pushes_out_none_of_others(fleet):
    async with fleet.connected("evil") as evil, fleet.connected("web1") as web1, fleet.connected() as js:
        config = (await js.stream_info("REACTOR_EVENTS"))["config"]
        most, size = config["max_msgs_per_subject"], config["max_msg_size"]
        assert most * size <= config["max_bytes"] / 10
        with pytest.raises(TooLargeError, match="message size exceeds maximum allowed"):
            await evil.publish("reactor.event.evil", b"x" * (size + 1))
        mine = await web1.publish("reactor.event.web1", b"mine")
        for number in range(most):
            await evil.connection.publish("reactor.event.evil", b"%d" % number)
        last = await evil.publish("reactor.event.evil", b"last")
        assert last.sequence == mine.sequence + most + 1
        state = (await js.stream_info("REACTOR_EVENTS"))["state"]
        assert state["num_deleted"] == 1  # the first of the host itself
        assert (await js.last_message("REACTOR_EVENTS", "reactor.event.web1")).data == b"mine"


def test_what_hosts_write_to_has_no_rollups_and_no_markers():
    written = {"KV_reactor_state", "KV_reactor_shared", "KV_reactor_slots", "REACTOR_EVENTS", "REGISTRATION"}
    for name, fields in wanted_streams().items():
        assert fields["allow_rollup_hdrs"] is (name not in written), name
        assert "subject_delete_marker_ttl" not in fields
    assert wanted_streams(ccm_publishers=True)["REGISTRATION"]["allow_rollup_hdrs"]
    assert differing_fields({"a": 1}, {"a": 1, "b": False, "c": 0}) == ()


async def test_a_host_does_all_that_it_should(fleet):
    async with fleet.connected() as operator, fleet.connected("web1") as web1:
        await operator.key_value("reactor_channels").put("web", b"state")
        await operator.key_value("reactor_hosts").put("web1", b"held")
        await operator.key_value("reactor_secrets").put("web1.db", b"cipher")
        await operator.objects("reactor_bundles").put("sha256-x", b"x" * 300_000)
        assert (await web1.key_value("reactor_channels").last("web")).value == b"state"
        assert (await web1.key_value("reactor_hosts").last("web1")).value == b"held"
        assert (await web1.key_value("reactor_secrets").last("web1.db")).value == b"cipher"
        assert await web1.objects("reactor_bundles").read("sha256-x", largest=1 << 20) == b"x" * 300_000
        assert await web1.key_value("reactor_state").put("web1", b"summary")
        assert await web1.key_value("reactor_shared").put("web1.pg", b"value")
        assert await web1.publish("reactor.event.web1", b"e", message_id="a")
        revision = await web1.key_value("reactor_slots").create("app.0.web1", b"web1", ttl=60)
        with pytest.raises(ApiError):
            await web1.key_value("reactor_slots").create("app.0.web1", b"web1", ttl=60)
        await web1.key_value("reactor_slots").delete("app.0.web1", revision=revision)


async def test_a_host_asks_once_for_what_it_may_not_know_while_a_stream_is_away(tmp_path):
    """The server logs each denied request, and all hosts try again all the time."""
    bare = FleetServer(tmp_path)
    with bare.server:
        async with bare.connected("web1") as js:
            subject = "$KV.reactor_state.web1"
            js.seconds = 1.0
            for each in ("1", "2"):
                with pytest.raises(NoRespondersError):
                    await js.publish(subject, b"", message_id=each, stream="KV_reactor_state")
    log = (bare.server.directory / "log").read_text()
    assert log.count("$JS.API.STREAM.INFO.KV_reactor_state") == 1


async def test_a_host_hears_hints_of_its_channel_and_of_itself_only(fleet):
    async with fleet.connected() as operator, fleet.connected("web1") as web1:
        with (
            web1.connection.messages("reactor.changed.channel.*") as channels,
            web1.connection.messages("reactor.changed.host.web1") as specs,
            web1.connection.messages("reactor.changed.shared.>") as shared,
        ):
            await web1.connection.flush()
            await operator.key_value("reactor_hosts").put("web2", b"x")
            await operator.key_value("reactor_hosts").put("web1", b"y")
            revision = await operator.key_value("reactor_channels").put("web", b"z")
            await web1.key_value("reactor_shared").put("web1.pg", b"value")
            with trio.fail_after(PATIENCE):
                hint = await anext(channels)
                assert (hint.subject, hint.data) == ("reactor.changed.channel.web", b"")
                assert hint.headers["Nats-Sequence"] == str(revision)
                assert (await anext(specs)).subject == "reactor.changed.host.web1"
                assert (await anext(shared)).subject == "reactor.changed.shared.pg.web1"


ATTACKS = {
    "read the spec of another": lambda js: js.key_value("reactor_hosts").last("web2"),
    "read a secret of another": lambda js: js.key_value("reactor_secrets").last("web2.db"),
    "read a summary of another": lambda js: js.key_value("reactor_state").last("web2"),
    "write its own spec": lambda js: js.key_value("reactor_hosts").put("web1", b"evil"),
    "take a slot for another": lambda js: js.key_value("reactor_slots").create("app.0.web2", b"evil", ttl=60),
    "free the slot of another": lambda js: js.key_value("reactor_slots").delete("app.0.web2"),
    "write a channel": lambda js: js.key_value("reactor_channels").put("web", b"evil"),
    "write a summary of another": lambda js: js.key_value("reactor_state").put("web2", b"evil"),
    "share a value of another": lambda js: js.key_value("reactor_shared").put("web2.pg", b"evil"),
    "send events of another": lambda js: js.publish("reactor.event.web2", b"evil"),
    "write a secret": lambda js: js.key_value("reactor_secrets").put("web1.db", b"evil"),
    "take the lease of a driver": lambda js: js.key_value("reactor_drive").create("web", b"evil"),
    "put a bundle": lambda js: js.objects("reactor_bundles").put("sha256-x", b"evil"),
    "see a stream": lambda js: js.stream_info("KV_reactor_hosts"),
    "delete a stream": lambda js: js.delete_stream("KV_reactor_hosts"),
    "make a stream": lambda js: js.create_stream("mine", {"subjects": ["reactor.changed.>"]}),
    "purge its own key": lambda js: js.purge("KV_reactor_state", "$KV.reactor_state.web1"),
    "make a consumer": lambda js: js.call(
        "CONSUMER.CREATE.KV_reactor_hosts.c.$KV.reactor_hosts.web1",
        {"stream_name": "KV_reactor_hosts", "config": {"name": "c", "deliver_subject": "reactor.event.web2"}},
    ),
    "update the accounts": lambda js: js.connection.request("$SYS.REQ.CLAIMS.UPDATE", b"evil", seconds=0.3),
}


async def contents(js):
    """Everything that is stored, but what the attacker may write."""
    found = {}
    for name in wanted_streams():
        state = (await js.stream_info(name))["state"]
        found[name] = (state["messages"], state["last_seq"])
    return found


async def test_a_host_can_not_do_what_is_not_its_own(fleet):
    async with fleet.connected() as operator, fleet.connected("web1") as connection:
        web1 = JetStream(connection.connection, seconds=0.4)
        for key in ("web1", "web2"):
            await operator.key_value("reactor_hosts").put(key, b"held")
            await operator.key_value("reactor_secrets").put(f"{key}.db", b"cipher")
        before = await contents(operator)
        for attack in ATTACKS.values():
            with pytest.raises(REFUSED):
                await attack(web1)
        assert await contents(operator) == before


@pytest.mark.parametrize(
    "reply",
    [
        "$KV.reactor_hosts.web2",
        "$KV.reactor_state.web2",
        "$KV.reactor_channels.web",
        "reactor.event.web2",
        "$KV.reactor_secrets.web2.db",
    ],
)
async def test_a_reply_subject_makes_no_server_a_deputy(fleet, reply):
    async with fleet.connected() as operator, fleet.connected("web1") as web1:
        await operator.key_value("reactor_hosts").put("web1", b"EVIL")
        await web1.key_value("reactor_state").put("web1", b"EVIL")
        before = await contents(operator)
        for subject, body in (
            ("$JS.API.DIRECT.GET.KV_reactor_hosts.$KV.reactor_hosts.web1", b""),
            ("$JS.API.DIRECT.GET.KV_reactor_shared", b'{"multi_last":["$KV.reactor_shared.>"]}'),
            ("$JS.API.DIRECT.GET.OBJ_reactor_bundles", b'{"seq":1}'),
            ("reactor.event.web1", b"own"),
        ):
            await web1.connection.publish(subject, body, reply=reply)
        await web1.publish("reactor.event.web1", b"last")  # acknowledged: it and all before it are stored
        after = await contents(operator)
        events, last = before["REACTOR_EVENTS"]
        assert after == before | {"REACTOR_EVENTS": (events + 2, last + 2)}


async def test_one_message_can_not_roll_up_what_others_wrote(fleet):
    async with (
        fleet.connected() as operator,
        fleet.connected("web1") as web1,
        fleet.connected("web2") as web2,
    ):
        await web2.key_value("reactor_state").put("web2", b"mine")
        await web2.key_value("reactor_shared").put("web2.pg", b"mine")
        await web2.publish("reactor.event.web2", b"mine")
        before = await contents(operator)
        for subject in (
            "$KV.reactor_state.web1",
            "$KV.reactor_shared.web1.pg",
            "reactor.event.web1",
            "$KV.reactor_slots.app.3.web1",
        ):
            for kind in ("all", "sub"):
                with pytest.raises(LinkError):
                    await web1.publish(subject, b"evil", headers={"Nats-Rollup": kind})
        assert await contents(operator) == before


async def test_a_message_id_that_a_host_has_seen_drops_nothing_of_another(fleet):
    """The server looks for duplicates in the whole stream. For the ids of events see `test_event_sender`."""
    async with (
        fleet.connected() as operator,
        fleet.connected("web1") as web1,
        fleet.connected("web2") as web2,
        fleet.connected("web1") as listener,
    ):
        assert not (await web2.publish("reactor.event.web2", b"a", message_id="9f")).duplicate
        assert (await web1.publish("reactor.event.web1", b"b", message_id="9f")).duplicate
        with listener.connection.messages("reactor.changed.shared.>") as hints:
            await listener.connection.flush()
            await web2.key_value("reactor_shared").put("web2.ids", b"1")
            with trio.fail_after(PATIENCE):
                seen = (await anext(hints)).headers["Nats-Msg-Id"]
            assert (await web1.publish("$KV.reactor_shared.web1.ids", b"x", message_id=seen)).duplicate
            await web2.key_value("reactor_shared").put("web2.ids", b"2")
        assert (await operator.key_value("reactor_shared").get("web2.ids")).value == b"2"


async def test_a_host_can_not_listen_to_others(fleet):
    async with (
        fleet.connected() as operator,
        fleet.connected("web1") as web1,
        fleet.connected("web2") as web2,
    ):
        heard = []
        with (
            web1.connection.subscribed("_INBOX_web2.>", heard.append),
            web1.connection.subscribed(">", heard.append),
            web1.connection.subscribed("reactor.changed.host.web2", heard.append),
            web1.connection.subscribed("$KV.>", heard.append),
        ):
            with pytest.raises(DeniedError):
                await web1.publish("_INBOX_web2.x", b"evil")
            await operator.key_value("reactor_hosts").put("web2", b"x")
            await web2.key_value("reactor_hosts").last("web2")
            await web1.connection.flush()
        assert heard == []


def mixed_credentials(fleet):
    """The JWT of one host with the key of another."""
    with open(fleet.host_credentials("web2")) as theirs, open(fleet.host_credentials("web1")) as own:
        stolen = theirs.read().partition("-----BEGIN USER NKEY SEED")[0]
        mixed = stolen + "-----BEGIN USER NKEY SEED" + own.read().partition("-----BEGIN USER NKEY SEED")[2]
    path = fleet.directory / "mixed.creds"
    path.write_text(mixed)
    return path


async def test_a_host_can_not_be_another(fleet):
    path = mixed_credentials(fleet)
    with pytest.raises(IdentityError):
        async with connected(Options(servers=(fleet.server.url,), credentials=str(path))):
            pass


async def test_a_key_of_hosts_makes_no_operator(fleet):
    """A JWT that the scoped key signed has the permissions of its template, whatever it says itself."""
    keys, user = fleet.fleet_server.keys, Key.generate("user")
    claims = {"issuer_account": keys.hosts.public, "pub": {"allow": [">"]}, "sub": {"allow": [">"]}}
    token = signed_token("user", user.public, "evil", keys.hosts_signing, claims, issued=now())
    path = str(fleet.directory / "evil.creds")
    save_credentials(path, Credentials(user, token))
    with pytest.raises(IdentityError):
        async with connected(
            Options(servers=(fleet.server.url,), credentials=path, inbox_prefix="_INBOX_evil")
        ):
            pass
