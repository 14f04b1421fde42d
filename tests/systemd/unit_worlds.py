"""Units for tests: each writes down when it starts, so that a test can tell once from twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import trio

from reactor.engine.events import Noted
from reactor.engine.options import RunOptions
from reactor.testing.story import converge_once
from reactor.watchers.dbus import Message, Scope, connect
from reactor.watchers.units import MANAGER, MANAGER_PATH, SYSTEMD, manager_signal, subscribe

ETC = Path("/etc/systemd/system")
VENDOR = Path("/usr/lib/systemd/system")
TIMEOUT = 60.0

_numbers = count()
_made: list[Unit] = []


def systemctl(*arguments: str) -> str:
    """What it writes; it may fail."""
    return subprocess.run(
        ["systemctl", *arguments], capture_output=True, text=True, check=False
    ).stdout.strip()


def kill_bus() -> None:
    """End the bus daemon; systemd starts another as soon as somebody asks for it."""
    systemctl("reset-failed", "dbus.service", "dbus.socket")  # however often it was started
    pid = int(systemctl("show", "--value", "--property=MainPID", "dbus.service"))
    assert pid, "it runs"
    os.kill(pid, signal.SIGKILL)


class Unit:
    """One service of its own name. Its unit file is written when ``write`` is called."""

    def __init__(self, directory: Path = ETC, prefix: str = "app") -> None:
        self.name = f"{prefix}{next(_numbers)}"
        self.full = f"{self.name}.service"
        self.path = directory / self.full
        self.log = Path(f"/tmp/{self.name}.log")
        _made.append(self)

    def text(self, service: str = "", unit: str = "", command: str = "exec sleep 1000") -> str:
        """A unit file whose main process does ``command``, once it is noted that there is a start."""
        note = f"ExecStartPre=/bin/sh -c 'echo started >>{self.log}'"
        start = f"ExecStart=/bin/sh -c '{command}'"
        return (
            f"[Unit]\nStartLimitIntervalSec=0\n{unit}\n[Service]\n{note}\n{start}\n{service}\n"
            "[Install]\nWantedBy=multi-user.target\n"
        )

    def write(self, service: str = "", **more: str) -> Unit:
        """Write the unit file, in a way that one event is enough to see it; nothing is told to systemd."""
        temporary = self.path.with_name(f".{self.full}.new")
        temporary.write_text(self.text(service, **more))
        os.replace(temporary, self.path)
        return self

    def ctl(self, verb: str, *more: str) -> str:
        return systemctl(verb, self.full, *more)

    def show(self, name: str) -> str:
        return systemctl("show", "--value", f"--property={name}", self.full)

    @property
    def active(self) -> str:
        return systemctl("is-active", self.full)

    @property
    def enabled(self) -> str:
        return systemctl("is-enabled", self.full)

    @property
    def starts(self) -> int:
        """How often it was started. Noted is that before systemd runs it, so that nothing kills it too soon for that."""
        return len(self.log.read_text().split()) if self.log.exists() else 0

    @property
    def pid(self) -> int:
        return int(self.show("MainPID") or 0)


def remove_units() -> None:
    """Stop the units that were made, and delete their files: each makes every later reload of systemd slower."""
    if not _made:
        return
    systemctl("stop", *(f"{unit.name}*" for unit in _made))
    for unit in _made:
        for directory in {unit.path.parent, ETC}:
            for path in directory.rglob(f"{unit.name}[.@-]*"):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
    _made.clear()


async def eventually(condition: Callable[[], object]) -> None:
    """Wait for something that only asking can tell."""
    with trio.fail_after(TIMEOUT):
        while True:
            if condition():
                return
            await trio.sleep(0.01)


@asynccontextmanager
async def counting(member: str) -> AsyncIterator[list[Message]]:
    """The signals that the manager of this name sends during the block; read them after it."""
    bus = await connect(Scope.SYSTEM)
    await subscribe(bus)
    heard: list[Message] = []
    subscription = await bus.subscribe(manager_signal(member), heard.append)
    yield heard
    await bus.get(SYSTEMD, MANAGER_PATH, MANAGER, "Version")  # what it sent before is here when it answers
    subscription.close()


async def converge(service, **options):
    """The check of a service in one run, and what it noted."""
    _, story = await converge_once(service, options=RunOptions(**options))
    (check,) = story.checks(service.ref)
    return check, [event.line for event in story.all(Noted)]
