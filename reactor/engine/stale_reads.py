"""Which checks of a run without watches read a file that another resource has changed since, or saw what covered theirs.

With watches, the event of that change has the check made again. Without, it is made again when the run comes to rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Final

from reactor.engine.change_log import ChangeLog
from reactor.engine.vertex_table import VertexTable
from reactor.resource.base import Resource

MOST_PASSES: Final = 10
"""How often a run looks: resources that change what each other reads must not keep it from ending."""


def _kernel_version() -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


_CLOCK_TICK_NS: Final = 5_000_000 if _kernel_version() >= (6, 13) else 20_000_000
"""By so much the time of a change may be behind the clock that we read: newer kernels have finer times."""


class StaleReads:
    """Compares the files that settled checks have read with the time of these checks."""

    def __init__(self, vertex_table: VertexTable, log: ChangeLog) -> None:
        self._vertex_table = vertex_table
        self._log = log
        self._seen = 0
        self._passes = 0

    @property
    def is_due(self) -> bool:
        """Whether anything was changed since the last look."""
        return self._log.changes > self._seen and self._passes < MOST_PASSES

    def take(self, settled: Collection[int]) -> list[int]:
        """Which of ``settled`` are to be checked again."""
        self._seen = self._log.changes
        self._passes += 1
        return [vertex for vertex in settled if self._log.others_since(vertex) and self._is_stale(vertex)]

    def _is_stale(self, vertex: int) -> bool:
        if self._vertex_table.resources[vertex].declared.is_covered:
            return True
        since = self._log.began_at(vertex) - _CLOCK_TICK_NS
        return any(_changed_after(since, path) for path in _read_by(self._vertex_table.resources[vertex]))


def _read_by(resource: Resource) -> Collection[str]:
    deferred = resource.declared.deferred
    return (*resource.source_files(), *(deferred.reads if deferred is not None else ()))


def _changed_after(moment: int, path: str) -> bool:
    """Whether the file may have changed. Of a whole directory, only the check of who reads it knows."""
    if path.endswith("/"):
        return True
    try:
        return os.stat(path).st_ctime_ns > moment
    except OSError:
        return False
