"""What a service manager hears: real datagrams on a real socket."""

import os
import socket
import time
from contextlib import asynccontextmanager

import pytest
import trio

from reactor.engine.engine import Engine
from reactor.engine.events import Cause, ReloadRejected
from reactor.engine.options import RunOptions
from reactor.service.notify import Notifier
from reactor.service.reporter import INTERVAL, Reporter, resource_status
from reactor.testing.scripted import scripted
from reactor.testing.story import graph_of


class Manager:
    """The manager's end."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(address)

    def heard(self):
        """All messages so far, each as a map."""
        messages = []
        while True:
            try:
                text = self.socket.recv(65536).decode()
            except BlockingIOError:
                return messages
            messages.append(dict(line.split("=", 1) for line in text.split("\n")))


@pytest.fixture
def manager(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


@pytest.fixture
def notifier(tmp_path, manager):
    return Notifier(str(tmp_path / "notify"))


def test_without_a_usable_socket_nothing_is_notified():
    assert Notifier.from_environment({}) is None
    assert Notifier.from_environment({"NOTIFY_SOCKET": "vsock:2:1234"}) is None


@pytest.mark.parametrize(
    ("variables", "watchdog"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_environment_says_how_often_a_sign_of_life_is_wanted(variables, watchdog):
    environment = {"NOTIFY_SOCKET": "/nowhere", "HOME": "/", **variables}
    assert Notifier.from_environment(environment).watchdog == watchdog
    assert environment == {"HOME": "/"}, "what we start is not to speak for us"


def test_every_message_is_as_the_protocol_has_it(manager, notifier):
    before = time.monotonic_ns() // 1000
    notifier.ready("all\nis  well")
    notifier.reloading()
    notifier.alive()
    notifier.stopping()
    ready, reloading, alive, stopping = manager.heard()
    assert ready == {"READY": "1", "STATUS": "all is well"}
    assert reloading["RELOADING"] == "1"
    assert before <= int(reloading["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    assert alive == {"WATCHDOG": "1"}
    assert stopping["STOPPING"] == "1"


def test_an_abstract_socket_is_one_too():
    manager = Manager(f"\0reactor-test-{os.getpid()}")
    Notifier(f"@reactor-test-{os.getpid()}").status("here")
    assert manager.heard() == [{"STATUS": "here"}]
    manager.socket.close()


def test_a_manager_that_is_gone_or_deaf_stops_nothing(tmp_path, manager, notifier):
    Notifier(str(tmp_path / "nobody")).ready("x")
    for _ in range(5000):
        notifier.alive()
    assert 0 < len(manager.heard()) < 5000


@asynccontextmanager
async def reported(notifier, *resources):
    """A running engine, told about by a reporter."""
    reporter = Reporter(notifier)
    engine = Engine(graph_of(resources), RunOptions(watch=True, audit_interval=None), reporter)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reporter.run, engine)
        await nursery.start(engine.run)
        yield engine, reporter
        engine.cancel()
        nursery.cancel_scope.cancel()


async def test_the_status_follows_the_resources_but_once_a_second(manager, notifier, autojump_clock):
    bad = scripted("bad", failures=1)
    async with reported(notifier, bad, scripted("low", require=["scripted#bad"])):
        await trio.sleep(INTERVAL / 2)
        first, *failing = manager.heard()
        await trio.sleep(60)
        assert manager.heard()[-1] == {"STATUS": "converged: 2 resources"}
    assert first == {"READY": "1", "STATUS": "starting"}
    assert len(failing) == 1


async def test_one_resource_is_not_called_resources(notifier, autojump_clock):
    async with reported(notifier, scripted("only")) as (engine, _):
        await trio.sleep(0.01)
        assert resource_status(engine) == "converged: 1 resource"


async def test_what_is_wrong_is_named(notifier, autojump_clock):
    resources = [scripted(f"bad{number}", failures=99) for number in range(5)]
    async with reported(notifier, *resources, scripted("low", require=["scripted#bad1"])) as (engine, _):
        await trio.sleep(0.01)
        names = "scripted#bad0, scripted#bad1, scripted#bad2, ..."
        assert resource_status(engine) == f"5 failed ({names}), 1 blocked, of 6 resources"
        engine.dispatcher.pause(0)
        engine.dispatcher.mark(0, Cause.DRIFT)
        assert "1 in motion" in resource_status(engine)


async def test_a_reload_begins_and_ends_whatever_comes_of_it(manager, notifier, autojump_clock):
    async with reported(notifier, scripted("a")) as (engine, reporter):
        await trio.sleep(2)
        manager.heard()
        reporter.loading()
        engine.reload(graph_of([scripted("b")]))
        reporter.loading()
        reporter(ReloadRejected(1.0, ("x",)))
        reloads = [message for message in manager.heard() if message.keys() & {"READY", "RELOADING"}]
    assert ["RELOADING" in message for message in reloads] == [True, False, True, False]
    assert "is invalid" in reloads[-1]["STATUS"]
    assert "can't be used" not in reloads[1]["STATUS"]


async def test_signs_of_life_come_twice_as_often_as_needed(manager, tmp_path, autojump_clock):
    async with reported(Notifier(str(tmp_path / "notify"), watchdog=10.0), scripted("a")):
        signs = 0
        for _ in range(53):
            signs += sum("WATCHDOG" in message for message in manager.heard())
            await trio.sleep(1)
    assert signs == 11
