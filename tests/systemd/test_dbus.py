"""The connection to a bus, over either library, on a real dbus-daemon of the test's own."""

from __future__ import annotations

import signal
import subprocess
from contextlib import asynccontextmanager

import pytest
import trio
from line_pipe import started
from trio.testing import wait_all_tasks_blocked

from reactor.watchers.dbus import CallError, Match, NoBusError
from reactor.watchers.dbus.bus import CALLS_AT_ONCE, Bus
from reactor.watchers.dbus.matches import RULES

DAEMON = "org.freedesktop.DBus"
OBJECT = (DAEMON, "/org/freedesktop/DBus", DAEMON)
NAME_OWNER_CHANGED = Match(*OBJECT, "NameOwnerChanged")

pytestmark = pytest.mark.parametrize("library", ["dbus_next", "dbus_fast"])


@pytest.fixture
def daemon(tmp_path):
    """A dbus-daemon; its address is an attribute."""
    command = [
        "dbus-daemon",
        "--session",
        "--nofork",
        f"--address=unix:path={tmp_path}/bus",
        "--print-address",
    ]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        process.address = process.stdout.readline().strip()
        yield process
        process.kill()


@asynccontextmanager
async def connected(daemon, library):
    async with trio.open_nursery() as nursery:
        bus = Bus(daemon.address, library)
        await nursery.start(bus.run)
        yield bus
        nursery.cancel_scope.cancel()


async def emit(bus, name):
    """Cause a signal: NameOwnerChanged of ``name``."""
    await bus.call(*OBJECT, "RequestName", "su", name, 0)


async def test_calls_and_properties_are_answered(daemon, library):
    async with connected(daemon, library) as bus:
        assert await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON) == [DAEMON]
        assert f"{DAEMON}.Monitoring" in await bus.get(*OBJECT, "Interfaces")
        assert set(await bus.get_all(*OBJECT)) >= {"Features", "Interfaces"}
        (credentials,) = await bus.call(*OBJECT, "GetConnectionCredentials", "s", DAEMON)
        assert credentials["UnixUserID"] == 0, "variants are unwrapped"


async def test_an_error_is_raised_with_its_name(daemon, library):
    async with connected(daemon, library) as bus:
        with pytest.raises(CallError, match=r"org\.example\.Nobody") as raised:
            await bus.call("org.example.Nobody", "/", "org.example.Nobody", "Do")
        assert raised.value.name == f"{DAEMON}.Error.ServiceUnknown"


async def test_a_body_that_does_not_fit_costs_no_slot(daemon, library):
    async with connected(daemon, library) as bus:
        for _ in range(2 * CALLS_AT_ONCE):
            with pytest.raises(Exception, match=r".") as raised:
                await bus.call(*OBJECT, "GetNameOwner", "s", 7)
            assert not isinstance(raised.value, (CallError, NoBusError))
        assert await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)


async def test_five_hundred_calls_at_once_are_all_answered(daemon, library):
    """dbus-daemon takes 128 of a connection."""
    answers = []

    async def ask():
        answers.append(await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON))

    async with connected(daemon, library) as bus:
        async with trio.open_nursery() as nursery:
            for _ in range(500):
                nursery.start_soon(ask)
        assert answers == [[DAEMON]] * 500


async def test_cancelled_calls_leave_nothing_behind(daemon, library):
    async with connected(daemon, library) as bus:
        for _ in range(20):
            async with trio.open_nursery() as nursery:
                for _ in range(50):
                    nursery.start_soon(bus.call, *OBJECT, "GetNameOwner", "s", DAEMON)
                await wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
        assert await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON) == [DAEMON]
        assert not bus._pending
        assert bus._slots.value == CALLS_AT_ONCE


async def test_no_signal_is_missed_and_none_comes_that_was_not_asked_for(daemon, library):
    async with connected(daemon, library) as bus, connected(daemon, library) as other:
        wanted = Match(*OBJECT, "NameOwnerChanged", arg0="org.example.wanted")
        async with bus.signals(wanted) as news:
            await emit(other, "org.example.other")
            await emit(other, "org.example.wanted")
            assert (await news.receive()).body[0] == "org.example.wanted"
            await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)
            with pytest.raises(trio.WouldBlock):
                news.receive_nowait()


async def test_a_user_who_wants_the_same_shares_a_rule_and_the_last_gives_it_back(daemon, library):
    async with connected(daemon, library) as bus, connected(daemon, library) as other:
        heard = []
        first = await bus.subscribe(NAME_OWNER_CHANGED, lambda message: heard.append(1))
        second = await bus.subscribe(NAME_OWNER_CHANGED, lambda message: heard.append(2))
        await emit(other, "org.example.a")
        await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)
        assert heard == [1, 2], "one signal for both"
        first.close()
        first.close()
        await emit(other, "org.example.b")
        await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)
        assert heard == [1, 2, 2]
        second.close()
        with pytest.raises(CallError, match="MatchRuleNotFound"):
            await bus.call(*OBJECT, "RemoveMatch", "s", NAME_OWNER_CHANGED.rule)


async def test_a_thousand_objects_are_noticed_although_the_bus_takes_512_rules(daemon, library):
    paths = [f"/org/example/unit/u{number}" for number in range(1000)]
    async with connected(daemon, library) as bus:
        for path in paths:
            await bus.subscribe(Match(DAEMON, path, DAEMON, "NameAcquired"), lambda _: None)
        rules = len(bus._router._holders)
        assert rules == RULES + 1
        assert bus._router.choose_rule(Match(DAEMON, "/org/example/unit/new", DAEMON, "NameAcquired"))[1]


async def test_the_end_of_the_bus_is_reported_to_all_who_wait(daemon, library):
    outcomes = []

    async def ask():
        try:
            await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)
        except NoBusError as error:
            outcomes.append(error)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            bus = Bus(daemon.address, library)
            await nursery.start(bus.run)
            async with bus.signals(NAME_OWNER_CHANGED) as news:
                daemon.send_signal(signal.SIGSTOP)  # it answers no more
                for _ in range(200):
                    nursery.start_soon(ask)
                await wait_all_tasks_blocked()
                daemon.kill()
                async for _ in news:
                    pass
    assert len(outcomes) == 200
    assert not bus.is_connected
    with pytest.raises(NoBusError):
        await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)


@pytest.mark.parametrize(
    "address", ["unix:path=/nowhere", "tcp:host=localhost,port=1", "", "unix:abstract=no%20one"]
)
async def test_no_bus_is_an_error_that_names_the_address(address, library):
    with pytest.raises(NoBusError, match=address or "no bus"):
        await Bus(address, library).run()


async def test_a_bus_that_hangs_up_after_the_greeting_is_no_bus(library, tmp_path, nursery):
    async def hang_up(stream):
        await stream.receive_some()
        await stream.send_all(b"OK 1234\r\n")
        await stream.receive_some()

    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(tmp_path / "bus"))
    sock.listen()
    await nursery.start(trio.serve_listeners, hang_up, [trio.SocketListener(sock)])
    with pytest.raises(NoBusError, match="did not accept the connection"):
        await Bus(f"unix:path={tmp_path}/bus", library).run()
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("answer", [b"REJECTED EXTERNAL\r\n", b""])
async def test_a_bus_that_turns_us_away_is_no_bus(answer, library, tmp_path, nursery):
    async def refuse(stream):
        await stream.receive_some()
        await stream.send_all(answer)

    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(tmp_path / "bus"))
    sock.listen()
    await nursery.start(trio.serve_listeners, refuse, [trio.SocketListener(sock)])
    with pytest.raises(NoBusError, match="refused the connection"):
        await Bus(f"unix:path={tmp_path}/bus", library).run()
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("answer", [b"", b"OK 1234\r\n"])
async def test_a_bus_that_never_answers_is_no_bus(answer, library, tmp_path, nursery, monkeypatch):
    async def stay_silent(stream):
        await stream.receive_some()
        await stream.send_all(answer)
        await trio.sleep_forever()

    monkeypatch.setattr("reactor.watchers.dbus.bus.TIMEOUT", 0.1)
    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(tmp_path / "bus"))
    sock.listen()
    await nursery.start(trio.serve_listeners, stay_silent, [trio.SocketListener(sock)])
    with trio.fail_after(60), pytest.raises(NoBusError, match="did not accept the connection within"):
        await Bus(f"unix:path={tmp_path}/bus", library).run()
    nursery.cancel_scope.cancel()


async def test_what_the_socket_does_not_take_at_once_is_sent_later_and_in_order(daemon, library):
    names = [f"{number}{'x' * 100_000}" for number in range(20)]
    async with connected(daemon, library) as bus:
        daemon.send_signal(signal.SIGSTOP)
        asked = [await bus.ask(*OBJECT, "GetNameOwner", "s", name) for name in names]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bus.call, *OBJECT, "GetNameOwner", "s", DAEMON)
            await wait_all_tasks_blocked()
            daemon.send_signal(signal.SIGCONT)
        for question, name in zip(asked, names, strict=True):
            with pytest.raises(CallError, match=name[:1000]):
                await question.answer()


async def test_a_subscription_that_is_cancelled_leaves_no_rule(daemon, library):
    async with connected(daemon, library) as bus:
        daemon.send_signal(signal.SIGSTOP)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bus.subscribe, NAME_OWNER_CHANGED, lambda _: None)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        daemon.send_signal(signal.SIGCONT)
        with pytest.raises(CallError, match="MatchRuleNotFound"):
            await bus.call(*OBJECT, "RemoveMatch", "s", NAME_OWNER_CHANGED.rule)


async def test_a_message_of_a_megabyte_comes_whole(daemon, library):
    async with connected(daemon, library) as bus:
        with pytest.raises(CallError, match=r"x{1000}"):
            await bus.call(*OBJECT, "GetNameOwner", "s", "x" * 1_000_000)
        assert await bus.call(*OBJECT, "GetNameOwner", "s", DAEMON)
