"""The rules ``command``, ``package``, ``process`` and ``service``: the software of the host."""

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
"""The prefix of a version in the answers."""
_QUESTIONS: Final = (
    ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", "--"),
    ("rpm", "-q", "--nosignature", "--nodigest",
     "--qf", "installed %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n", "--"),
)  # fmt: skip
_KERNEL_LENGTH = 15
"""The characters of a program's name that the kernel keeps, see TASK_COMM_LEN in proc_pid_comm(5)."""


class CommandRule(Rule):
    """A command line for /bin/sh, its exit code and output."""

    command: str | None = Field(default=None, alias="exec")
    """The command; by default the key."""
    exit_status: Expected = 0
    stdout: Expected = None
    stderr: Expected = None
    timeout: Milliseconds = 10_000
    """The time after which the command is killed, in milliseconds."""

    async def find(self, key: str) -> Mapping[str, Any]:
        """Run the command."""
        line = ("/bin/sh", "-c", self.command or key)
        completed = await run(Command(line, "/", ENVIRONMENT, self.timeout * MILLISECOND))
        return {
            "exit_status": completed.exit_code,
            "stdout": Text(completed.stdout),
            "stderr": Text(completed.stderr),
        }


class PackageRule(Rule):
    """A package of dpkg, or of rpm if there is no dpkg."""

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
    """The command that asks the package manager of this host; the name of the package is appended."""
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
        """Search /proc."""
        return {"running": (self.comm or key)[:_KERNEL_LENGTH] in _programs()}


def _programs() -> Iterator[str]:
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/comm", "rb") as comm:
                yield comm.read().rstrip(b"\n").decode(errors="backslashreplace")


class ServiceRule(Rule):
    """A systemd unit; without a suffix, a service."""

    name: str | None = None
    """The name; by default the key."""
    enabled: Expected = None
    running: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask systemctl for the expected properties."""
        name = self.name or key
        found = {}
        if self.enabled is not None:
            found["enabled"] = await _agrees("is-enabled", name)
        if self.running is not None:
            found["running"] = await _agrees("is-active", name)
        return found


async def _agrees(question: str, unit: str) -> bool:
    """Whether ``systemctl`` answers yes to ``question`` about ``unit``; also False if it finds no systemd.

    Raises ResourceError when there is no systemctl.
    """
    command = Command(("systemctl", "--quiet", question, "--", unit), "/", ENVIRONMENT)
    return (await run(command)).exit_code == 0
