"""Any user of the host can send this process signals that look like those of systemd: none decides how a job has ended."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import trio
from unit_worlds import Unit, eventually, systemctl

from reactor.engine.events import Result
from reactor.resources.service import Service
from reactor.testing.story import converge_once
from reactor.watchers.dbus import Match, Scope, connect
from reactor.watchers.units import MANAGER, MANAGER_PATH

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def own_name() -> str:
    """The name of the connection of this process."""
    lines = subprocess.run(["busctl", "list", "--no-legend"], capture_output=True, text=True, check=True)
    words = map(str.split, lines.stdout.splitlines())
    return next(name for name, pid, *_ in words if pid == str(os.getpid()) and name.startswith(":"))


def forge(member: str, *arguments: str) -> None:
    to = ("--system", "--type=signal", f"--dest={own_name()}", "/org/freedesktop/systemd1")
    signal = f"org.freedesktop.systemd1.Manager.{member}"
    subprocess.run([*NOBODY, "dbus-send", *to, signal, *arguments], check=True)


async def test_only_the_bus_itself_says_who_owns_a_name():
    bus = await connect(Scope.SYSTEM)
    match = Match("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged")
    async with bus.signals(match) as messages:
        to = ("--system", "--type=signal", f"--dest={own_name()}", match.path)
        signal, systemd = f"{match.interface}.{match.member}", "string:org.freedesktop.systemd1"
        subprocess.run([*NOBODY, "dbus-send", *to, signal, systemd, "string:", "string::1.0"], check=True)
        with trio.fail_after(60):
            heard = [(await messages.receive()).body[0]]  # the connection of dbus-send, as the bus reports it
            await bus.get("org.freedesktop.systemd1", MANAGER_PATH, MANAGER, "Version")
        while True:
            try:
                heard.append(messages.receive_nowait().body[0])
            except trio.WouldBlock:
                break
    assert all(name.startswith(":") for name in heard)


def job_of(unit: Unit) -> str:
    jobs = map(str.split, systemctl("list-jobs", "--no-legend").splitlines())
    return next((number for number, name, *_ in jobs if name == unit.full), "")


@pytest.mark.parametrize("result", ["failed", "done", "canceled", None])
async def test_a_forged_end_of_a_job_is_not_believed(app, result):
    await connect(Scope.SYSTEM)
    gate = Path(f"/tmp/{app.name}.gate")
    os.mkfifo(gate)
    app.write(f"ExecStartPre=/bin/sh -c 'read line <{gate}'")
    systemctl("daemon-reload")
    service = Service(name=app.name, ensure="running")
    stories = []

    async def converge() -> None:
        stories.append((await converge_once(service))[1])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(converge)
        await eventually(lambda: job_of(app))
        if result is None:
            forge("JobRemoved", "boolean:true")
        else:
            job = job_of(app)
            path = f"objpath:/org/freedesktop/systemd1/job/{job}"
            forge("JobRemoved", f"uint32:{job}", path, f"string:{app.full}", f"string:{result}")
        gate.write_text("go on\n")
    (check,) = stories[0].checks(service.ref)
    assert (check.error, check.result, check.actions) == (None, Result.CHANGED, ("started",))
    assert (app.active, app.starts) == ("active", 1)
