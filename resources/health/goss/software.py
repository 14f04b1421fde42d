"""The rule ``command``: how a command ends, and what it writes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pydantic import Field

from reactor import ResourceError
from reactor.resources.health.goss.matchers import Expected, Text
from reactor.resources.health.goss.rule import MILLISECOND, Milliseconds, Rule
from reactor.resources.process import ENVIRONMENT, Command, run

_INSTALLED = "installed "
"""What a line of the answer begins with, before a version."""
_QUESTIONS: Final = (
    ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", "--"),
    ("rpm", "-q", "--nosignature", "--nodigest",
     "--qf", "installed %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n", "--"),
)  # fmt: skip
_KERNEL_LENGTH = 15
"""The kernel keeps so much of a program's name, see TASK_COMM_LEN in proc_pid_comm(5)."""


class CommandRule(Rule):
    """A line for /bin/sh."""

    command: str | None = Field(default=None, alias="exec")
    """The command; by default the key."""
    exit_status: Expected = 0
    stdout: Expected = None
    stderr: Expected = None
    timeout: Milliseconds = 10_000
    """Milliseconds after which it is killed."""

    async def find(self, key: str) -> Mapping[str, Any]:
        """Run it."""
        line = ("/bin/sh", "-c", self.command or key)
        completed = await run(Command(line, "/", ENVIRONMENT, self.timeout * MILLISECOND))
        return {
            "exit_status": completed.exit_code,
            "stdout": Text(completed.stdout),
            "stderr": Text(completed.stderr),
        }


class PackageRule(Rule):
    """A package of dpkg, or where that is missing, of rpm."""

    name: str | None = None
    """The name; by default the key."""
    installed: Expected = True
    versions: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask the package manager of this host."""
        command = Command((*_question(), self.name or key), "/", ENVIRONMENT)
        lines = (await run(command)).stdout.splitlines()
        versions = [line.removeprefix(_INSTALLED) for line in lines if line.startswith(_INSTALLED)]
        return {"installed": True, "versions": versions} if versions else {"installed": False}


def _question() -> Sequence[str]:
    """How to ask the package manager of this host; the name of the package is to follow."""
    for question in _QUESTIONS:
        if shutil.which(question[0], path=ENVIRONMENT["PATH"]):
            return question
    raise ResourceError("there is neither dpkg-query nor rpm to ask for packages")


class ProcessRule(Rule):
    """Processes by the name of their program, as in /proc/PID/comm."""

    comm: str | None = None
    """The name; by default the key."""
    running: Expected = True

    async def find(self, key: str) -> Mapping[str, Any]:
        """Look through /proc."""
        return {"running": (self.comm or key)[:_KERNEL_LENGTH] in _programs()}


def _programs() -> Iterator[str]:
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/comm", "rb") as comm:
                yield comm.read().rstrip(b"\n").decode(errors="backslashreplace")


class ServiceRule(Rule):
    """A unit; without a suffix it is a service."""

    name: str | None = None
    """The name; by default the key."""
    enabled: Expected = None
    running: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask systemctl for what is expected."""
        name = self.name or key
        found = {}
        if self.enabled is not None:
            found["enabled"] = await _agrees("is-enabled", name)
        if self.running is not None:
            found["running"] = await _agrees("is-active", name)
        return found


async def _agrees(question: str, unit: str) -> bool:
    """Raises ResourceError when there is no systemctl. Where it finds no systemd to ask, the answer is no."""
    command = Command(("systemctl", "--quiet", question, "--", unit), "/", ENVIRONMENT)
    return (await run(command)).exit_code == 0
