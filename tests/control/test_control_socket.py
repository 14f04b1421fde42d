import json
import os
import socket
import stat
import time
from contextlib import suppress

import pytest
import trio
import trio.testing
from control_worlds import controlled

from reactor.control import connection_slots
from reactor.control.broadcast import MOST as CROWD
from reactor.control.client import NoRunError
from reactor.control.connection_slots import TIMEOUT
from reactor.control.protocol import RefusedError
from reactor.control.server import MOST
from reactor.engine.events import AuditFound, Checked, EventsLost, Output
from reactor.journal.state_directory import SOCKET_FILE
from reactor.testing.scripted import scripted
from reactor.testing.story import graph_of

EVENTS = b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"
FIRST = 120.0
"""In so many seconds a client sends its request here: nobody waits for the end of them, however busy the machine is."""


@pytest.fixture(autouse=True)
def clients_have_time(monkeypatch):
    monkeypatch.setattr(connection_slots, "FIRST", FIRST)


@pytest.fixture
def clock(mock_clock):
    """It runs like any other, so that each wait of a test has its end, and can be set forward."""
    mock_clock.rate = 1.0
    return mock_clock


async def test_status_reports_the_run_the_counts_and_what_is_not_fine(tmp_path):
    good, bad, below = (
        scripted("good"),
        scripted("bad", failures=99),
        scripted("low", require=["scripted#bad"]),
    )
    async with controlled(tmp_path, good, bad, below) as world:
        await world.story.rest()
        status = await world.status()
    assert status["run"]["manifest"] == "/etc/site.yaml"
    assert status["run"]["pid"] == os.getpid()
    assert status["run"]["mode"] == "enforce"
    assert status["run"]["converged"] is False
    assert status["run"]["changes"] == 1
    assert {state: n for state, n in status["counts"].items() if n} == {
        "changed": 1,
        "failed": 1,
        "blocked": 1,
    }
    failed, blocked = status["resources"]
    assert failed["ref"] == "scripted#bad"
    assert failed["error"] == "the script says so"
    assert failed["retry_at"] > failed["since"]
    assert blocked["state"] == "blocked"
    assert blocked["blocked_by"] == ["scripted#bad"]


async def test_all_lists_everything_and_a_glob_what_it_means(tmp_path):
    async with controlled(tmp_path, scripted("a"), scripted("b", alias="second"), scripted("c")) as world:
        await world.story.converged()
        everything = await world.status(everything=True)
        one = await world.status(match="scripted#sec*")
        quiet = await world.status()
    assert [record["ref"] for record in everything["resources"]] == ["scripted#a", "scripted#b", "scripted#c"]
    assert [record["ref"] for record in one["resources"]] == ["scripted#b"]
    assert one["resources"][0]["changed"]["actions"] == ["repaired"]
    assert quiet["resources"] == []
    assert quiet["counts"] == {
        "ok": 0, "changed": 3, "would_change": 0, "failed": 0, "blocked": 0, "skipped": 0, "unknown": 0, "waiting": 0,
        "paused": 0,
    }  # fmt: skip
    assert quiet["run"]["converged"] is True


async def test_one_resource_is_found_by_its_ref_whatever_characters_it_holds(tmp_path):
    name = "/a b/ä%2F?#[x]"
    async with controlled(tmp_path, scripted(name, alias="odd")) as world:
        await world.story.converged()
        record = await world.ask("resource", f"scripted#{name}")
        assert (await world.ask("resource", "scripted#odd"))["ref"] == record["ref"]
    assert record["ref"] == f"scripted#{name}"
    assert record["state"] == "changed"
    assert record["checked"]["causes"] == ["initial"]


async def test_a_misspelt_name_is_answered_with_the_nearest(tmp_path):
    async with controlled(tmp_path, scripted("motd")) as world:
        for method, args in [("resource", ()), ("pause", (60, "x")), ("resume", ())]:
            with pytest.raises(RefusedError, match="no resource matches scripted#modt") as refused:
                await world.ask(method, "scripted#modt", *args)
            assert refused.value.hint == "did you mean 'scripted#motd'?"


async def test_only_the_owner_may_use_the_socket_and_it_goes_with_the_run(tmp_path):
    before = os.umask(0)
    try:
        async with controlled(tmp_path, scripted("a")):
            assert stat.S_IMODE((tmp_path / SOCKET_FILE).stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert not (tmp_path / SOCKET_FILE).exists()


async def test_a_stale_socket_is_replaced(tmp_path):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / SOCKET_FILE))
    async with controlled(tmp_path, scripted("a")) as world:
        assert (await world.status())["run"]["pid"] == os.getpid()


async def test_what_is_no_socket_is_left_alone_and_the_run_goes_on(tmp_path):
    (tmp_path / SOCKET_FILE).write_text("precious")
    async with controlled(tmp_path, scripted("a")) as world:
        await world.story.converged()
        assert "no control socket" in world.told[0]
        assert "it is not a socket; remove it" in world.told[0]
    assert (tmp_path / SOCKET_FILE).read_text() == "precious"


async def test_a_directory_with_a_long_name_is_no_obstacle(tmp_path):
    deep = tmp_path / ("d" * 200)
    deep.mkdir()
    async with controlled(deep, scripted("a")) as world:
        assert (await world.status())["counts"]


@pytest.mark.parametrize("place", ["", "missing"])
async def test_without_a_run_the_client_says_so(tmp_path, place):
    async with controlled(tmp_path, scripted("a")) as world:
        world.client.directory = str(tmp_path / place)
        if not place:
            world.engine.cancel()
            await world.control.drain()
            (tmp_path / SOCKET_FILE).unlink()
        with pytest.raises(NoRunError, match="no run is active on "):
            await world.status()


async def until(condition):
    """Wait for something that no event tells of."""
    with trio.fail_after(60):
        while not condition():
            await trio.lowlevel.checkpoint()


class Raw:
    """One raw connection to the socket of a world."""

    def __init__(self, directory):
        self.socket = trio.socket.socket(socket.AF_UNIX)
        self.path = str(directory / SOCKET_FILE)

    async def say(self, data):
        await self.socket.connect(self.path)
        await self.socket.send(data)
        return self

    async def until(self, words):
        heard = b""
        with trio.fail_after(60):
            while words not in heard:
                data = await self.socket.recv(65536)
                assert data, heard
                heard += data
        return heard


async def answer(directory, request_line, body=b""):
    raw = Raw(directory)
    head = f"{request_line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    await raw.say(head.encode() + body)
    heard = b""
    with trio.fail_after(60), suppress(ConnectionResetError):  # when it did not want all of the body
        while data := await raw.socket.recv(65536):
            heard += data
    raw.socket.close()
    head, _, rest = heard.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(rest)


@pytest.mark.parametrize(
    "said", [b"", b"GET /v1", b"POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"]
)
async def test_clients_that_have_gone_leave_their_places_at_once_and_without_a_word(tmp_path, said):
    async with controlled(tmp_path, scripted("a")) as world:
        crowd = [await Raw(tmp_path).say(said) for _ in range(MOST)]
        await until(lambda: len(os.listdir("/proc/self/fd")) > 2 * MOST)
        for each in crowd:
            each.socket.close()
        with trio.fail_after(FIRST / 2):
            assert (await answer(tmp_path, "GET /v1/health"))[0] == 200
        assert world.told == []


@pytest.mark.parametrize(
    "said",
    [b"GET /v1", b"POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
     b"GET /v1/status?all=true HTTP/1.1\r\nHost: x\r\n\r\n"],
    ids=["half a head", "half a body", "an answer that is not read"],
)  # fmt: skip
async def test_clients_that_stand_still_lose_their_places(tmp_path, said, clock):
    async with controlled(tmp_path, scripted("a" * 1_000_000)) as world:
        crowd = [await Raw(tmp_path).say(said) for _ in range(MOST)]
        await until(lambda: len(os.listdir("/proc/self/fd")) > 2 * MOST)
        await trio.testing.wait_all_tasks_blocked(0.05)
        clock.jump(TIMEOUT)
        with trio.fail_after(FIRST / 2):
            assert (await answer(tmp_path, "GET /v1/health"))[0] == 200
        for each in crowd:
            each.socket.close()
        assert world.told == []


async def test_the_live_stream_lasts(tmp_path, clock):
    async with controlled(tmp_path, scripted("a")) as world:
        raw = await Raw(tmp_path).say(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await raw.until(b": events")
        clock.jump(100 * TIMEOUT)
        await trio.testing.wait_all_tasks_blocked(0.01)
        world.engine.emit(Output(0.0, "scripted#a", "still here"))
        await raw.until(b"still here")
        raw.socket.close()


async def test_a_crowd_of_clients_locks_nothing_out_and_takes_no_open_files_from_repairs(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        before = len(os.listdir("/proc/self/fd"))
        crowd = [await Raw(tmp_path).say(b"GET /v1") for _ in range(10 * MOST)]
        with trio.fail_after(FIRST / 2):
            assert (await answer(tmp_path, "GET /v1/health"))[0] == 200
        assert len(os.listdir("/proc/self/fd")) <= before + len(crowd) + MOST + 2
        for each in crowd:
            each.socket.close()
        assert world.told == []


async def test_while_as_many_follow_the_events_as_may_others_are_answered(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        crowd = [await Raw(tmp_path).say(EVENTS) for _ in range(CROWD)]
        for each in crowd:
            await each.until(b": events")
        one_more, told = await answer(tmp_path, "GET /v1/events")
        with trio.fail_after(FIRST / 2):
            assert (await world.status())["run"]["readers"] == CROWD
        idle = [await Raw(tmp_path).say(b"") for _ in range(2 * MOST)]
        with trio.fail_after(FIRST / 2):
            assert (await world.status())["run"]["readers"] == CROWD
        for each in (*crowd, *idle):
            each.socket.close()
    assert (one_more, told["error"]["message"]) == (503, f"there are already {CROWD} readers of the events")


@pytest.mark.parametrize(
    ("request_line", "body", "status", "words"),
    [
        ("GET /v1/nothing", b"", 404, "Not Found"),
        ("GET /status", b"", 404, "Not Found"),
        ("DELETE /v1/status", b"", 405, "Method Not Allowed"),
        ("GET /v1/pause", b"", 405, "Method Not Allowed"),
        ("GET /v1/status?match=file%23x", b"", 404, "no resource matches file#x"),
        ("GET /v1/status?all=1", b"", 400, "all=1 must be true or false"),
        ("GET /v1/status?what=1", b"", 400, "there is no parameter 'what'"),
        ("GET /v1/resources/file%23x", b"", 404, "no resource matches file#x"),
        ("POST /v1/pause", b"", 400, "the body is not JSON"),
        ("POST /v1/pause", b"\xff", 400, "the body is not JSON"),
        ("POST /v1/pause", b"[" * 60_000, 400, "the body is not JSON"),
        ("POST /v1/pause", b"[]", 400, "the body is not a JSON object"),
        ("POST /v1/pause", b'{"for": 5}', 400, "'reason' must be a string"),
        ("POST /v1/pause", b'{"for": "5", "reason": "x"}', 400, "'for' must be a number of seconds"),
        ("POST /v1/pause", b'{"for": NaN, "reason": "x"}', 400, "'for' must be a number of seconds"),
        ("POST /v1/pause", b'{"for": 1e99, "reason": "x"}', 400, "'for' must be a number of seconds"),
        ("POST /v1/pause", b'{"for": 5, "reason": "x", "match": 5}', 400, "'match' must be a string"),
        ("POST /v1/resume", b'{"mach": "x"}', 400, "the body has the unknown key 'mach'"),
        ("POST /v1/resume", b" " * 100_000, 413, "the body is longer than"),
    ],
)
async def test_bad_requests_are_answered_with_json_errors(tmp_path, request_line, body, status, words):
    async with controlled(tmp_path, scripted("a")) as world:
        code, told = await answer(tmp_path, request_line, body)
        await world.story.converged()
    assert (code, words in told["error"]["message"]) == (status, True), told
    assert told["error"]["hint"]
    assert world.told == []


async def test_health_is_short(tmp_path):
    async with controlled(tmp_path, scripted("a")):
        assert await answer(tmp_path, "GET /v1/health") == (200, {"status": "ok", "pid": os.getpid()})


@pytest.mark.parametrize(
    "junk",
    [b"\0\1\2\r\n\r\n", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"x" * 100_000,
     b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
     b"POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
     b"GET /%ff%00 HTTP/1.1\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"],
)  # fmt: skip
async def test_junk_costs_only_its_sender(tmp_path, junk):
    async with controlled(tmp_path, scripted("a")) as world:
        raw = await Raw(tmp_path).say(junk)
        raw.socket.shutdown(socket.SHUT_WR)
        with trio.fail_after(60):
            try:
                while await raw.socket.recv(65536):
                    pass
            except ConnectionResetError:
                pass
        raw.socket.close()
        assert (await world.status())["run"]["pid"] == os.getpid()
        world.story.drift("scripted#a")
        await world.story.until(lambda: len(world.story.all(Checked)) == 2)


async def test_the_live_stream_has_every_event_and_its_end(tmp_path):
    a = scripted("a")
    async with controlled(tmp_path, a) as world:
        await world.story.converged()
        raw = await Raw(tmp_path).say(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await raw.until(b": events from now on\n\n")
        assert b"content-type: text/event-stream" in head
        a.script.drifted = True
        world.story.drift("scripted#a")
        heard = await raw.until(b'"event":"converged"')
        (checked,) = [json.loads(line[6:]) for line in heard.split(b"\n") if b'"checked"' in line]
        assert checked["ref"] == "scripted#a"
        assert checked["result"] == "changed"
        assert (await world.status())["run"]["readers"] == 1
        await world.control.drain()
        assert (await raw.socket.recv(100)).startswith(b"0\r\n")
        raw.socket.close()


async def test_the_client_follows_the_stream(tmp_path):
    a = scripted("a")
    async with controlled(tmp_path, a) as world:
        await world.story.converged()

        def follow():
            return [(event["event"], event.get("ref")) for event in world.client.events()]

        async def play():
            await until(lambda: world.control.broadcast.listeners)
            world.story.drift("scripted#a")
            await world.story.until(lambda: len(world.story.all(Checked)) == 2)
            await world.control.drain()

        heard = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play)
            heard = await trio.to_thread.run_sync(follow)
    assert ("checked", "scripted#a") in heard


async def test_a_reader_that_goes_away_is_forgotten(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        raw = await Raw(tmp_path).say(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await raw.until(b": events")
        raw.socket.close()
        await until(lambda: not world.control.broadcast.listeners)
        assert world.told == []


async def test_a_reader_that_goes_away_before_it_has_read_all_is_no_bug(tmp_path):
    """The kernel says that it has reset the connection: nothing is wrong with reactor."""
    async with controlled(tmp_path, scripted("a")) as world:
        raw = await Raw(tmp_path).say(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: world.control.broadcast.listeners)
        assert await raw.socket.recv(1) == b"H"
        raw.socket.close()
        await until(lambda: not world.control.broadcast.listeners)
        assert (await answer(tmp_path, "GET /v1/health"))[0] == 200
        assert world.told == []


async def test_a_reader_that_does_not_read_holds_up_nothing_and_is_dropped_loudly(tmp_path):
    a = scripted("a")
    async with controlled(tmp_path, a) as world:
        raw = await Raw(tmp_path).say(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await raw.until(b": events")
        while not world.told:
            world.engine.emit(Output(0.0, "scripted#a", "x" * 10_000))
            await trio.lowlevel.checkpoint()
        a.script.drifted = True
        world.story.drift("scripted#a")
        with trio.fail_after(60):
            await world.story.until(lambda: not a.script.drifted)
        assert world.told[0].startswith("a reader of the event stream was dropped: ")
        status = await world.status()
        assert (status["run"]["readers"], status["run"]["readers_dropped"]) == (0, 1)
        heard = b""
        with trio.fail_after(60):
            while data := await raw.socket.recv(1 << 20):
                heard += data
        assert not heard.endswith(b"0\r\n\r\n"), "a stream that was cut must not look complete"
        raw.socket.close()


async def test_a_reader_that_does_not_read_can_not_hold_up_the_end(tmp_path):
    a = scripted("a")
    async with controlled(tmp_path, a) as world:
        raw = await Raw(tmp_path).say(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await raw.until(b": events")
        listener = world.control.broadcast._listeners[0]
        for _ in range(100):
            world.engine.emit(Output(0.0, "scripted#a", "x" * 10_000))
            await trio.testing.wait_all_tasks_blocked()
        assert listener.waiting, "the stream is stuck"
        with trio.fail_after(60):
            await world.control.drain()
    raw.socket.close()
    assert world.told == []


async def test_what_a_reload_brings_is_known_and_paused_before_its_first_check(tmp_path):
    a, b = scripted("a"), scripted("b")
    async with controlled(tmp_path, a) as world:
        await world.story.converged()
        assert await world.ask("pause", "*", 60, "upgrade") == ["scripted#a"]
        world.engine.reload(graph_of([b]))
        await trio.testing.wait_all_tasks_blocked(0.01)
        status = await world.status()
        assert [record["ref"] for record in status["resources"]] == ["scripted#b"]
        assert status["resources"][0]["paused"]["reason"] == "upgrade"
        assert status["run"]["generation"] == 2
        assert b.script.checks == []
        assert await world.ask("resume", "*") == ["scripted#b"]
        await b.script.begun()


async def test_the_run_counts_what_was_lost_and_what_the_audit_found(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        lost = [EventsLost(1.0, watcher, "the queue overflowed") for watcher in ("inotify", "netlink")]
        for event in (*lost, AuditFound(1.0, "scripted#a")):
            world.tally(event)
        run = (await world.status())["run"]
    assert (run["events_lost"], run["audit_found"]) == (2, 1)


async def test_a_hundred_clients_at_once_are_all_answered(tmp_path):
    async with controlled(tmp_path, *(scripted(f"r{number}") for number in range(50))) as world:
        answers = []

        async def ask():
            answers.append(await world.status(everything=True))

        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(ask)
    assert {len(answer["resources"]) for answer in answers} == {50}
    assert len(answers) == 100


@pytest.mark.parametrize(("step", "moved"), [(7200, 7200), (-7200, -7200), (30, 0)])
async def test_the_status_says_that_the_clock_was_set_and_how_long_the_run_is_up(
    tmp_path, monkeypatch, step, moved
):
    async with controlled(tmp_path, scripted("a")) as world:
        await world.story.converged()
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + step)
        run = (await world.status())["run"]
    assert run["clock_moved"] == pytest.approx(moved, abs=1)
    assert 0 < run["up"] < 60
