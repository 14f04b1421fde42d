"""The rule ``process``: whether a program runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule

_KERNEL_LENGTH = 15
"""The kernel keeps so much of a program's name, see TASK_COMM_LEN in proc_pid_comm(5)."""


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
