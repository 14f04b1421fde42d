"""Which checks of a run without watches read a file that another resource has changed since.

With watches, the event of that change has the check made again. Without, it is made again when the run comes to rest.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from typing import Final, NamedTuple

from reactor.engine.roster import Roster
from reactor.resource.base import Resource

MOST_PASSES: Final = 10
"""How often a run looks: resources that change what each other reads must not keep it from ending."""


def _kernel_version() -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


_CLOCK_TICK_NS: Final = 5_000_000 if _kernel_version() >= (6, 13) else 20_000_000
"""By so much the time of a change may be behind the clock that we read: newer kernels have finer times."""


class _Began(NamedTuple):
    """When the last check of a vertex began: after how many changes of all, and in nanoseconds since 1970."""

    changes: int
    at: int


class Rereading:
    """Knows when each check began, and what was changed since by others."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._began: dict[int, _Began] = {}
        self._changes = 0
        self._own: dict[int, int] = {}
        """By vertex: which of all changes was its last."""
        self._passes = 0
        self.is_due = False

    def begins(self, vertex: int) -> None:
        """A check of ``vertex`` begins."""
        self._began[vertex] = _Began(self._changes, time.time_ns())

    def changes(self, vertex: int) -> None:
        """The check of ``vertex`` is about to change something."""
        self._changes += 1
        self._own[vertex] = self._changes
        self.is_due = self._passes < MOST_PASSES

    def take(self, settled: Collection[int]) -> list[int]:
        """Which of ``settled`` are to be checked again."""
        self.is_due = False
        self._passes += 1
        return [vertex for vertex in settled if self._others_since(vertex) and self._is_stale(vertex)]

    def _others_since(self, vertex: int) -> int:
        if (began := self._began.get(vertex)) is None:
            return 0
        return self._changes - began.changes - (self._own.get(vertex, 0) > began.changes)

    def _is_stale(self, vertex: int) -> bool:
        resource = self._roster.resources[vertex]
        since = self._began[vertex].at - _CLOCK_TICK_NS
        return any(_changed_after(since, path) for path in _read_by(resource))


def _read_by(resource: Resource) -> Collection[str]:
    return (*resource.reads(), *(resource.late.reads if resource.late is not None else ()))


def _changed_after(moment: int, path: str) -> bool:
    """Whether the file may have changed. Of a whole directory, only the check of who reads it knows."""
    if path.endswith("/"):
        return True
    try:
        return os.stat(path).st_ctime_ns > moment
    except OSError:
        return False
