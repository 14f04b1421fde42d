"""What operators see: hosts, channels, failures, events, and why. On a real server, by the real commands."""

import csv
import io
import json
import re
import time

import httpx
import pytest
import trio
from fleet_server import FleetServer
from known_fleet import NOSPACE, checked, put_host, put_state, remember, send_events, state, summary
from nats_servers import PATIENCE
from processes_of_cli import spawned

from reactor.cli.running.fleet_metrics import render
from reactor.cli.running.fleet_page import picture
from reactor.fleet.bucket_names import CHANNELS, COUNTS, HOSTS, SHARED, SLOTS, STATE
from reactor.fleet.documents import DocumentError
from reactor.fleet.event_batch import BATCH, COMPRESSED_ABOVE, batch_id_of, decode_batch, encode_batch
from reactor.fleet.host_spec import HostSpec, SignedPin
from reactor.fleet.operator.events import fleet_events
from reactor.fleet.operator.explanation import explained
from reactor.fleet.operator.known_hosts import FleetView, HostLine, KnownHost, read_fleet, unknown_of
from reactor.fleet.operator.live_fleet import LiveFleet
from reactor.fleet.operator.overview import Overview
from reactor.fleet.operator.where import WhereError, parse_where
from reactor.fleet.release.pin import Pin
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.state import Phase
from reactor.fleet.shared_value import SharedValue
from reactor.fleet.slot_holder import Holder
from reactor.resource.entry_points import installed_version


async def filled(server):
    async with server.connected() as js:
        await put_state(js, state())
        await put_host(
            js, "web1", summary("web1", facts={"os": "debian", "cpu": {"count": 8}}), groups=("canary", "eu")
        )
        await put_host(js, "web2", summary("web2", HostPhase.FAILED, worst=[NOSPACE]), groups=("eu",))
        await put_host(js, "web3", summary("web3", serial=41, facts={"os": "alpine"}))
        await put_host(js, "web4", summary("web4", HostPhase.REJECTED, why="line 3 is \x1b[2J wrong"))
        await put_host(js, "web5")
        await put_host(js, "db1", summary("db1", worst=[NOSPACE], channels=("db",)), channels=("db",))
        pin = Pin("web6", "web", "sha256-" + "a" * 64, 1.7e9, why="old data", by="ben")
        pinned = {"web": SignedPin(pin.to_bytes().decode(), "none")}
        await put_host(js, "web6", summary("web6", HostPhase.HELD, serial=41), pins=pinned)
        await send_events(js, "web1", [checked(1, 3000), checked(2, 10)])
        await send_events(js, "web2", [checked(7, 2000, "file#/etc/x", NOSPACE[1])])
        await send_events(js, "web2", [checked(7, 2000, "file#/etc/x", NOSPACE[1]), checked(8, 5)])
        await send_events(js, "web1", [{"id": 3, "event": "checked", "time": 1}])
        await js.publish("reactor.event.web4", b"{\n", message_id="aa:1-1")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    server = FleetServer(tmp_path_factory.mktemp("views"))
    with server.server:
        trio.run(server.make_streams)
        trio.run(filled, server)
        yield remember(server), server


@pytest.fixture
def fleet(reactor, home):
    return lambda *words: reactor("fleet", words[0], "--home", home[0], *words[1:])


def test_hosts_that_report_and_that_the_servers_have_forgotten_are_named(reactor, tmp_path):
    """As after the servers have lost their disks: the hosts go on, and report."""
    server = FleetServer(tmp_path)

    async def report():
        async with server.connected() as js:
            await put_host(js, "web1", summary("web1"))
            await js.key_value(STATE).put("web7", summary("web7").to_bytes())

    words = "the servers do not know these hosts that report, and no rollout counts them: web7\n"
    with server.server:
        trio.run(server.make_streams)
        trio.run(report)
        done = reactor("fleet", "hosts", "--home", remember(server))
        with spawned("fleet", "status", "--watch", "--home", remember(server)) as watching:
            assert [watching.stdout.readline().decode() for _ in range(2)] == [
                "no channel has a release\n",
                words,
            ]
        with spawned("fleet", "serve", "127.0.0.1:0", "--home", remember(server)) as serving:
            url, _, token = serving.stdout.readline().decode().split()[-1].partition("/?token=")
            answer = httpx.get(f"{url}/fleet", headers={"Authorization": f"Bearer {token}"})
    assert done.code == 0
    assert done.out.startswith("web1 ")
    assert words in done.err
    assert "join again" in done.err
    assert (answer.json()["unknown"], answer.json()["unknown_count"]) == (["web7"], 1)


def test_a_host_that_is_gone_for_ever_is_not_said_to_report():
    told = {
        "web1": (summary("web1"), 1000.0),
        "gone": (summary("gone"), 100.0),
        "web7": (summary("web7"), 500.0),
    }
    assert unknown_of(told, {"web1"}, 1200.0) == ("web7",)


def names(done):
    assert done.code == 0, done.err
    return [line.split()[0] for line in done.out.splitlines()]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("", ["db1", "web1", "web2", "web3", "web4", "web5", "web6"]),
        ("web*", ["web1", "web2", "web3", "web4", "web5", "web6"]),
        ("group:eu", ["web1", "web2"]),
        ("channel:db", ["db1"]),
        ("failed", ["web2"]),
        ("not well and channel:web", ["web2", "web4", "web5", "web6"]),
        ("serial<42", ["web3", "web6"]),
        ("serial == 42 and not (failed or rejected)", ["db1", "web1"]),
        ("facts.os == 'debian'", ["web1"]),
        ("facts.os != debian", ["web3"]),
        ("facts.cpu.count >= 8", ["web1"]),
        ("facts.os > 3", []),
        ("unheard or pinned", ["web5", "web6"]),
        ("reactor == '0.9.1' and group:canary", ["web1"]),
        ("host:web1 or phase:rej*", ["web1", "web4"]),
        ("silent", []),
    ],
)
def test_hosts_are_chosen_by_what_is_known_of_them(fleet, where, found):
    assert names(fleet("hosts", "-l", where)) == found


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("seral<42", "'seral' is not a value of a host"),
        ("grup:eu", "is not one of host:, group:, channel:, phase:"),
        ("(web1", "a parenthesis is not closed"),
        ("web1 web2", "'web2' is not expected there"),
        ("serial <", "a value is missing after <"),
        ("not", "a term is missing"),
        ("and", "'and' is not expected"),
        ("'web", "can't be read"),
        ("", "a term is missing"),
    ],
)
def test_a_wrong_expression_says_what_is_wrong(where, words):
    with pytest.raises(WhereError) as caught:
        parse_where(where)
    assert words in caught.value.message
    assert caught.value.hint


def test_a_wrong_expression_is_bad_usage(fleet):
    done = fleet("hosts", "-l", "seral<42")
    assert (done.code, done.out) == (2, "")
    assert (
        "error[R1020]: 'seral<42': 'seral' is not a value of a host\nhint: the values are serial, rank"
        in done.err
    )


def test_hosts_for_people_and_for_programs(fleet):
    text = fleet("hosts", "-l", "web[14]").out
    assert text.splitlines()[0].split("  ")[:2] == ["web1", "web 42 converged"]
    assert "\x1b" not in text
    assert r"line 3 is \x1b[2J wrong" in text
    (one,) = map(json.loads, fleet("hosts", "-l", "web1", "--format", "json").out.splitlines())
    assert one["channels"]["web"] == {
        "phase": "converged",
        "serial": 42,
        "rank": 0,
        "in_wave": True,
        "why": "",
    }
    assert one["facts"]["cpu"] == {"count": 8}
    rows = list(csv.DictReader(io.StringIO(fleet("hosts", "--format", "csv").out)))
    assert [row["phase"] for row in rows if row["host"] in ("web2", "web5")] == ["failed", "never heard"]
    inventory = json.loads(fleet("hosts", "--format", "ansible").out)
    assert inventory["channel_db"] == {"hosts": ["db1"]}
    assert inventory["phase_never_heard"] == {"hosts": ["web5"]}
    assert inventory["_meta"]["hostvars"]["web1"]["fleet"]["groups"] == ["canary", "eu"]


def test_status_lists_only_hosts_that_are_not_well(fleet):
    done = fleet("status", "-l", "group:eu")
    head, why, waits, *rest = done.out.splitlines()
    assert (
        head
        == "web: release 42 rolling 50 %, in force on 2 of 2; 1 converged, 1 failed; NO DRIVER: it stands still"
    )
    assert why == "  wave 1 % is good (ann)"
    assert waits.startswith("  waits: ")
    assert [line.split(":")[0].strip() for line in rest] == ["web2"]
    whole = fleet("status").out
    assert "rolling 50 %, in force on 3 of 6; " in whole, "two are at the release before, one was never heard"
    assert "1 held, 1 never heard, 1 rejected" in whole
    assert "web1:" not in whole


def test_a_host_with_another_version_is_shown_with_both_where_that_may_be_the_reason(fleet):
    both = f"(reactor 0.9.1 there, {installed_version()} here)"
    assert f"is \\x1b[2J wrong {both}" in fleet("status").out, "it does not know what the release uses"
    assert f" s ago {both}: " in fleet("why", "web4").out
    assert fleet("status").out.count(both) == 1


def test_status_lists_first_the_hosts_that_failed_and_then_those_that_say_nothing():
    phases = ("moving", "failed", "never heard", "converged", "rejected", "silent")
    hosts = tuple(HostLine(str(number), "web", phase, 1, 0, True, "") for number, phase in enumerate(phases))
    urgent = [host.phase for host in Overview(state(), hosts, None).unwell()]
    assert urgent == ["failed", "rejected", "never heard", "silent", "moving"]


def test_an_expelled_host_makes_no_alarm_and_is_no_host_of_the_fleet():
    known = {
        "web1": KnownHost(HostSpec("web1", ("web",)), summary("web1"), 1e9 - 5),
        "gone": KnownHost(HostSpec("gone", expelled=9e8), summary("gone", lost=7), 9e8),
    }
    view = FleetView(known, {}, now=1e9)
    text = render(view, [], "")[0].decode().splitlines()
    assert "reactor_fleet_oldest_summary_seconds 5.0" in text
    assert "reactor_fleet_events_lost_total 7.0" in text, "a counter goes never back"
    assert picture(view, [], [])["hosts"] == 1
    assert explained(view, known["gone"])[0] == "gone: expelled on 1998-07-09T16:00:00Z"


def test_rollout_shows_what_the_next_wave_waits_for(fleet, home):
    lines = fleet("rollout", "web").out.splitlines()
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["waits", "max_failed:"], ["ok", "max_silent:"] if "ok  max_silent" in lines[3] else ["waits", "max_silent:"],
        ["waits", "min_converged:"], lines[5].split()[:2],
    ]  # fmt: skip
    assert "soak: 60 s" in lines[5]
    found = json.loads(fleet("rollout", "web", "--format", "json").out)
    assert [each["name"] for each in found["conditions"]] == [
        "max_failed",
        "max_silent",
        "min_converged",
        "soak",
    ]


def test_a_stop_for_which_nobody_gave_a_reason_is_told_with_who_did_it(fleet, home):
    async def put(channel):
        async with home[1].connected() as js:
            await put_state(js, channel)

    trio.run(put, state(phase=Phase.PAUSED, why="", by="ben@laptop"))
    assert fleet("status").out.splitlines()[1] == "  by ben@laptop"
    done = fleet("drive", "web", "--until-ended")
    trio.run(put, state())
    assert done.out == "web: release 42 paused 50 %: by ben@laptop\n"


def test_why_says_why_a_host_has_its_release(fleet):
    lines = fleet("why", "web1").out.splitlines()
    assert lines[0] == "web1: channels web; groups canary, eu"
    assert "    should have release 42, sha256-bbbbbbbbbbbb: rank 0 is in the wave of 50 %" in lines
    assert any(line.startswith("    has release 42, sha256-bbbbbbbbbbbb; converged since ") for line in lines)
    pinned = fleet("why", "web6").out
    assert "should have the previous release, sha256-aaaaaaaaaaaa: ben pinned it: old data" in pinned
    assert "  it has never reported" in fleet("why", "web5").out
    done = fleet("why", "web9")
    assert (done.code, "error[R1008]: there is no host web9" in done.err) == (1, True)


def test_why_with_a_resource_shows_its_events(fleet):
    lines = fleet("why", "web2", "file#/etc/x").out.splitlines()
    assert lines[-2] == "  file#/etc/x:"
    assert NOSPACE[1] in lines[-1]
    assert fleet("why", "web2", "file#/no").out.endswith("file#/no: the servers have no events of it\n")


def test_failures_are_grouped_by_resource_and_message(fleet):
    done = fleet("failures")
    assert done.out.splitlines()[0] == f"2 hosts  {NOSPACE[0]}: {NOSPACE[1]} (db1, web2)"
    assert r"1 host  channel web: line 3 is \x1b[2J wrong (web4)" in done.out
    (one,) = map(json.loads, fleet("failures", "-l", "web2", "--format", "json").out.splitlines())
    assert one == {"resource": NOSPACE[0], "message": NOSPACE[1], "hosts": ["web2"]}
    well = fleet("failures", "-l", "web1")
    assert (well.out, well.err) == ("nothing fails now\n", "")


def test_failures_name_a_release_that_was_taken_back(fleet, home):
    async def change(found):
        async with home[1].connected() as js:
            await (put_state(js, found) if found else js.key_value(CHANNELS).delete("db"))

    trio.run(change, state(channel="db", phase=Phase.REVERTED, why="1 of 1 hosts failed (db1)"))
    done = fleet("failures", "-l", "web1")
    trio.run(change, None)
    assert done.out == "nothing fails now\n"
    assert "release 42 of db is reverted: 1 of 1 hosts failed (db1)\nhint: " in done.err
    assert "reactor fleet events --failed" in done.err


def test_events_of_all_hosts_are_merged_by_time_and_each_is_shown_once(fleet):
    done = fleet("events", "--format", "json")
    found = done.records
    assert [(each["host"], each["id"]) for each in found] == [
        ("web1", 1),
        ("web2", 7),
        ("web1", 2),
        ("web2", 8),
    ]
    assert "web4: a batch of events of web4 is not valid JSON" in done.err
    failed = fleet("events", "--failed", "-l", "group:eu")
    (line,) = failed.out.splitlines()
    assert line.startswith("web2  ")
    assert NOSPACE[1] in line
    assert [
        json.loads(line)["id"]
        for line in fleet("events", "--since", "1000s", "--format", "json").out.splitlines()
    ] == [2, 8]


async def test_new_events_are_followed(home):
    _, server = home
    async with server.connected() as js, trio.open_nursery() as nursery:
        got = trio.Event()
        found = []

        async def follow(task_status=trio.TASK_STATUS_IGNORED):
            async for batch in fleet_events(js, hosts=["web3"], follow=True):
                found.extend(batch)
                got.set()

        nursery.start_soon(follow)
        with trio.fail_after(PATIENCE):
            while not got.is_set():
                await send_events(js, "web1", [checked(50, 0)], journal=f"{time.time_ns():x}")
                await send_events(js, "web3", [checked(51, 0)], journal=f"{time.time_ns():x}")
                await trio.sleep(0.02)
        nursery.cancel_scope.cancel()
    assert {(each.host, each.record["id"]) for each in found} == {("web3", 51)}


def test_a_batch_is_lines_of_json_and_compressed_where_it_is_large():
    few, many = [checked(1, 0)], [checked(number, 0) for number in range(200)]
    assert json.loads(encode_batch(few)) == few[0]
    data = encode_batch(many)
    assert data[:4] == b"\x28\xb5\x2f\xfd"
    assert len(data) < COMPRESSED_ABOVE
    assert decode_batch(data, "it") == many
    assert batch_id_of({BATCH: "5eed:3-9"}) == ("5eed", 3, 9)
    assert batch_id_of({BATCH: "5eed:3"}) is None


@pytest.mark.parametrize(
    "data", [b"[]\n", b"{", b"\x28\xb5\x2f\xfdxx", encode_batch([{"x": "a" * (5 << 20)}])]
)
def test_a_batch_that_a_hostile_host_sends_is_refused(data):
    with pytest.raises(DocumentError):
        decode_batch(data, "it")


def test_an_aggregator_counts_for_fleets_that_are_too_large_to_read(fleet, home):
    assert fleet("status", "--counts").out == "nothing is counted: run reactor fleet count\n"
    counted = fleet("count", "--once").out
    assert counted.startswith("web: release 42 rolling 50 %; 2 converged, 1 failed, 1 held")
    (one,) = map(json.loads, fleet("status", "--counts", "--format", "json").out.splitlines())
    assert one["phases"]["never heard"] == 1
    assert one["oldest"] < 600

    async def stored():
        async with home[1].connected() as js:
            return (await js.key_value(COUNTS).get("web")).value

    assert json.loads(trio.run(stored)) == one


def test_ages_are_told_by_the_clock_of_the_servers(fleet, home, monkeypatch):
    async def put():
        async with home[1].connected() as js:
            await js.publish(f"$KV.{SLOTS}.app.1.web1", Holder("web1", "exec#x", "t").to_bytes())
            await js.publish(f"$KV.{SHARED}.web1.pg", SharedValue("web1", "pg", 1, ()).to_bytes())

    trio.run(put)
    fleet("count", "--once")
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 86_400)
    ages = [fleet(*words).out for words in (("slots", "app"), ("shared", "pg"), ("status", "--counts"))]
    assert all(re.search(r"(renewed|shared|counted) [\d.]+ m?s ago", each) for each in ages), ages


async def test_what_is_shown_live_is_what_is_read_at_once(home):
    _, server = home
    async with server.connected() as js, trio.open_nursery() as nursery:
        live = LiveFleet(js)
        nursery.start_soon(live.run)
        with trio.fail_after(PATIENCE):
            await live.complete.wait()
            read, kept = await read_fleet(js), await live.view()
            assert (kept.channels, kept.drivers) == (read.channels, read.drivers)
            for name, host in read.hosts.items():
                assert (kept.hosts[name].spec, kept.hosts[name].summary) == (host.spec, host.summary)
                assert kept.hosts[name].heard == pytest.approx(host.heard, abs=1e-3)
            assert len(kept.hosts) == len(read.hosts)
            await js.key_value(STATE).put("web5", summary("web5").to_bytes())
            while (await live.view()).hosts["web5"].summary is None:
                await live.changed.wait(PATIENCE)
            await js.key_value(STATE).put("web5", b"damaged")
            while (await live.view()).hosts["web5"].summary is not None:
                await live.changed.wait(PATIENCE)
        nursery.cancel_scope.cancel()


def test_a_host_whose_document_can_not_be_read_is_an_error_and_not_left_out(fleet, home):
    async def put(data):
        async with home[1].connected() as js:
            await js.key_value(HOSTS).put("web5", data)

    trio.run(put, b'{"v":2}')
    for words in (("status",), ("hosts",), ("status", "--watch"), ("count", "--once"), ("count",)):
        done = fleet(*words)
        assert (done.code, done.out) == (1, ""), words
        assert "error[R1001]: the spec for web5 has version 2, and 1 is understood here" in done.err
    trio.run(put, HostSpec("web5", ("web",)).to_bytes())


def test_nothing_that_a_host_sends_controls_a_terminal_or_looks_like_another_line(fleet, home):
    evil = "\x1b[2J\u202e\nweb1: converged"

    async def lie():
        async with home[1].connected() as js:
            await put_host(js, "evil1", summary("evil1", HostPhase.FAILED, why=evil, worst=((evil, evil),)))
            holder = Holder("evil1", evil, "t").to_bytes()
            await js.publish(f"$KV.{SLOTS}.a\u202eb.\u202e.evil1", holder)
            await js.publish(
                f"$KV.{SHARED}.evil1.a\u202eb", SharedValue("evil1", "a", evil, (evil,)).to_bytes()
            )
            await send_events(js, "evil1", [checked(1, 5, evil, evil)], "5eed5")

    async def forget():
        async with home[1].connected() as js:
            await js.key_value(HOSTS).delete("evil1")

    trio.run(lie)
    for words in (
        ("status",),
        ("hosts",),
        ("hosts", "--format", "csv"),
        ("failures",),
        ("rollout", "web"),
        ("why", "evil1"),
        ("events",),
        ("slots",),
        ("shared",),
    ):
        lines = fleet(*words).out.replace("\r\n", "\n").split("\n")
        assert all(line.isprintable() for line in lines), words
        assert "web1: converged" not in lines, words
    trio.run(forget)
