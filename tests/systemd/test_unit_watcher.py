"""What the unit watcher hears of a real systemd, and what it leaves alone. Over either D-Bus library."""

from __future__ import annotations

import os
import socket
import subprocess
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked
from unit_worlds import ETC, Unit, counting, eventually, kill_bus, systemctl
from watch_recorder import Recorder

from reactor.engine.events import WatcherChanged
from reactor.resource.watch import WatchState
from reactor.resources.service import Service
from reactor.testing.story import running
from reactor.watchers.dbus import CallError, Scope, connect
from reactor.watchers.systemd import UnitWatch, UnitWatcher
from reactor.watchers.units import MANAGER, MANAGER_PATH, SYSTEMD


@pytest.fixture(params=["dbus_next", "dbus_fast"])
def library(request, monkeypatch):
    monkeypatch.setattr("reactor.watchers.dbus.connections.DEFAULT", request.param)


class Sink(Recorder):
    """Counts the marks of each vertex."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def mark(self, vertex, delay=0.0):
        self.counts[vertex] += 1
        super().mark(vertex, delay)

    @property
    def heard(self):
        """The states in the order in which they were reported."""
        return [state for state, _, _ in self.reports]


@asynccontextmanager
async def watching(*units):
    """A watcher at work on ``units``, whose vertices are 0, 1, ..."""
    sink = Sink()
    watcher = UnitWatcher(sink)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        with trio.fail_after(60):
            for vertex, unit in enumerate(units):
                await watcher.arm(UnitWatch(unit), vertex)
        yield sink, watcher
        nursery.cancel_scope.cancel()
    watcher.close()


async def all_heard(sink, vertex, unit):
    """Wait until what happened so far was heard: that ``unit``, which is ``vertex``, starts and stops after it."""
    for verb in ("start", "stop"):
        before = sink.counts[vertex]
        unit.ctl(verb)
        await sink.until(lambda before=before: sink.counts[vertex] > before)


async def quiet(sink):
    """Wait until nothing is heard any more, and systemd has nothing left to say; then forget what was."""
    bus = await connect(Scope.SYSTEM)
    heard = -1
    while heard != sink.counts.total():
        heard = sink.counts.total()
        for _ in range(3):  # what a signal leads to is asked, and that may lead to something
            await bus.get(SYSTEMD, MANAGER_PATH, MANAGER, "Version")
            await wait_all_tasks_blocked(0.05)
    sink.counts.clear()


async def test_only_the_unit_that_changes_is_marked(library, app):
    other = Unit().write()
    async with watching(app.full, other.full) as (sink, _):
        app.ctl("start")
        await sink.until(lambda: sink.counts[0])
        await quiet(sink)
        app.ctl("stop")
        await sink.until(lambda: sink.counts[0])
        assert not sink.counts[1]
        assert not sink.losses
        assert not sink.heard


async def test_a_name_that_systemd_does_not_take_is_no_harm_to_the_others(library, app):
    async with watching("no+name.service", app.full, "no~name@1.service") as (sink, _):
        app.ctl("start")
        await sink.until(lambda: sink.counts[1])
        kill_bus()
        await sink.until(lambda: WatchState.ARMED in sink.heard)
        sink.counts.clear()
        app.ctl("stop")
        await sink.until(lambda: sink.counts[1])


async def test_an_alias_is_noticed_where_its_unit_is(app):
    alias = f"alias-{app.full}"
    (ETC / alias).symlink_to(app.path)
    async with watching(alias) as (sink, _):
        app.ctl("start")
        await sink.until(lambda: sink.counts[0])


async def test_a_change_of_the_file_of_a_unit_marks_its_alias(app):
    alias = f"alias-{app.full}"
    (ETC / alias).symlink_to(app.path)
    async with watching(alias) as (sink, _):
        await quiet(sink)
        app.write("Nice=1")
        await sink.until(lambda: sink.counts[0])


async def test_a_unit_that_does_not_run_is_watched_without_loading_it_over_and_over(library, app):
    """To look at such a unit is to load and unload it: who looks when units come and go never ends."""
    last = Unit().write()
    async with watching(app.full, "nowhere.service", last.full) as (sink, _):
        await quiet(sink)
        async with counting("UnitNew") as loaded:
            await all_heard(sink, 2, last)
        assert not {message.body[0] for message in loaded} & {app.full, "nowhere.service"}
        assert set(+sink.counts) == {2}


async def test_a_daemon_reload_alone_is_no_reason_to_check(app):
    last = Unit().write()
    async with watching(app.full, last.full) as (sink, _):
        async with counting("Reloading") as reloads:
            systemctl("daemon-reload")
            await eventually(lambda: len(reloads) == 2)
        await quiet(sink)
        systemctl("daemon-reload")
        await all_heard(sink, 1, last)
        assert set(+sink.counts) == {1}


async def test_a_unit_that_a_daemon_reload_loads_otherwise_is_checked(app, monkeypatch):
    """Also when no change of its files was heard, as where generators write them."""
    monkeypatch.setattr("reactor.watchers.systemd.directories", lambda _: ())
    app.ctl("start")
    async with watching(app.full) as (sink, _):
        await quiet(sink)
        app.path.unlink()
        systemctl("daemon-reload")
        await sink.until(lambda: sink.counts[0])


async def test_one_that_is_disarmed_is_not_marked(app):
    last = Unit().write()
    async with watching(app.full, app.full, last.full) as (sink, watcher):
        watcher.disarm(UnitWatch(app.full), 0)
        app.ctl("start")
        await sink.until(lambda: sink.counts[1])
        watcher.disarm(UnitWatch(app.full), 1)
        sink.counts.clear()
        app.ctl("stop")
        await all_heard(sink, 2, last)
        assert set(+sink.counts) == {2}


async def test_more_units_than_the_bus_has_rules_for_are_all_noticed(monkeypatch, library):
    monkeypatch.setattr("reactor.watchers.dbus.matches.RULES", 6)
    apps = [Unit().write() for _ in range(6)]
    async with watching(*(app.full for app in apps)) as (sink, _):
        systemctl("start", *(app.full for app in apps))
        await sink.until(lambda: all(sink.counts[vertex] for vertex in range(6)))


async def test_a_bus_that_comes_back_again_and_again_is_no_busy_loop(library, app):
    async with watching(app.full) as (sink, _):
        for times in range(1, 4):
            kill_bus()
            await sink.until(lambda times=times: sink.heard.count(WatchState.ARMED) == times)
        assert len(sink.heard) < 12
        assert len(sink.losses) < 12
        sink.counts.clear()
        app.ctl("start")
        await sink.until(lambda: sink.counts[0])


async def test_without_a_bus_units_are_polled_and_that_is_said(monkeypatch, app, autojump_clock):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
    async with watching(app.full) as (sink, _):
        assert sink.heard == [WatchState.POLLING]
        before = trio.current_time()
        await sink.until(lambda: sink.counts[0] >= 1)
        assert 4 < trio.current_time() - before < 12
        assert sink.heard == [WatchState.POLLING]


async def test_a_bus_that_accepts_and_never_answers_holds_nothing_up(monkeypatch, app, tmp_path):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{tmp_path}/bus")
    listening.listen()
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/bus")
    monkeypatch.setattr("reactor.watchers.dbus.bus.TIMEOUT", 0.2)
    with listening:
        others = [Service(name=unit.name) for unit in (Unit().write(), Unit().write())]
        async with running(Service(name=app.name), *others) as story:
            with trio.fail_after(60):
                await story.converged()
            assert [event.state for event in story.all(WatcherChanged)][:1] == [WatchState.POLLING]
    assert app.active == "active"


async def test_a_service_without_a_bus_is_repaired_by_polling(monkeypatch, app):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
    monkeypatch.setattr("reactor.watchers.systemd.POLL_INTERVAL", 0.2)
    async with running(Service(name=app.name)) as story:
        await story.converged()
        app.ctl("stop")
        await eventually(lambda: app.starts == 2)


async def test_watchers_and_checks_share_one_connection(app):
    bus = await connect(Scope.SYSTEM)
    async with running(*(Service(name=unit.name) for unit in (app, Unit().write(), Unit().write()))) as story:
        await story.converged()
        assert await connect(Scope.SYSTEM) is bus
        daemon = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        (names,) = await bus.call(*daemon, "ListNames")
        owners = []
        for name in (each for each in names if each.startswith(":")):
            with suppress(CallError):  # others leave the bus meanwhile
                owners.append(await bus.call(*daemon, "GetConnectionUnixProcessID", "s", name))
        assert owners.count([os.getpid()]) == 1


def test_the_connection_of_a_run_is_closed_after_it():
    descriptors = len(os.listdir("/proc/self/fd"))
    bus = trio.run(connect, Scope.SYSTEM)
    assert not bus.is_connected
    assert len(os.listdir("/proc/self/fd")) <= descriptors


async def test_a_unit_of_the_user_is_managed_by_the_systemd_of_the_user(tmp_path, monkeypatch):
    runtime = Path("/run/user/0")
    runtime.mkdir(parents=True, exist_ok=True)
    runtime.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    properties = [
        "--property=Delegate=yes",
        f"--setenv=XDG_RUNTIME_DIR={runtime}",
        f"--setenv=XDG_CONFIG_HOME={tmp_path}",
    ]
    bus = ["dbus-daemon", "--session", "--nofork", f"--address=unix:path={runtime}/bus"]
    subprocess.run(["systemd-run", "--quiet", "--unit=user-bus", *properties, *bus], check=True)
    await eventually((runtime / "bus").exists)
    environment = f"--setenv=DBUS_SESSION_BUS_ADDRESS=unix:path={runtime}/bus"
    manager = ["/lib/systemd/systemd", "--user"]
    subprocess.run(
        ["systemd-run", "--quiet", "--unit=user-manager", *properties, environment, *manager], check=True
    )
    await eventually(lambda: systemctl("--user", "is-system-running") in {"running", "degraded"})
    directory = tmp_path / "systemd" / "user"
    directory.mkdir(parents=True)
    unit = directory / "mine.service"
    unit.write_text("[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=default.target\n")
    async with running(Service(name="mine", scope="user", enable=True)) as story:
        await story.converged()
        assert systemctl("--user", "is-active", "mine") == "active"
        assert systemctl("--user", "is-enabled", "mine") == "enabled"
        assert systemctl("is-active", "mine") == "inactive"
        systemctl("--user", "stop", "mine")
        await eventually(lambda: systemctl("--user", "is-active", "mine") == "active")
    systemctl("stop", "user-manager", "user-bus")
