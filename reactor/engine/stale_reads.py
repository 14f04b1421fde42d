"""Which checks of a run without watches read a file that another resource has changed since, or saw what covered theirs.

With watches, the event of that change has the check made again. Without, it is made again when the run comes to rest.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

from reactor.engine.change_log import ChangeLog
from reactor.engine.vertex_table import VertexTable
from reactor.resource.base import Resource

MOST_PASSES: Final = 10
"""How often a run looks: resources that change what each other reads must not keep it from ending."""

_Stamp = tuple[int, ...] | None
"""What changes with a file; None while there is none, or it can't be read."""

_CLOCK_TICK_NS: Final = 20_000_000
"""By so much the time of a change may be behind the clock that we read."""


class StaleReads:
    """Compares the files that settled checks have read with what they were when these checks began.

    The time of a file alone does not tell: a file that was written just before a check began seems to be as new as one
    that was written just after, and a command that is checked again may run again.
    """

    def __init__(self, vertex_table: VertexTable, log: ChangeLog) -> None:
        self._vertex_table = vertex_table
        self._log = log
        self._stamps: dict[int, dict[str, _Stamp]] = {}
        self._seen = 0
        self._passes = 0

    def reads(self, vertex: int) -> None:
        """The check of ``vertex`` begins to read. Remember what the files are that it is known to read."""
        if paths := _read_by(self._vertex_table.resources[vertex]):
            self._stamps[vertex] = {path: _stamp(path) for path in paths if not path.endswith("/")}

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
        if self._vertex_table.resources[vertex].is_covered:
            return True
        stamps, since = self._stamps.get(vertex, {}), self._log.began_at(vertex)
        return any(
            _stamp(path) != stamps[path] if path in stamps else _changed_after(since, path)
            for path in _read_by(self._vertex_table.resources[vertex])
        )


def _read_by(resource: Resource) -> Collection[str]:
    if resource.deferred is None:
        return resource.reads()
    return (*resource.reads(), *resource.deferred.reads)


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _changed_after(moment: int, path: str) -> bool:
    """Whether the file may have changed. Of a whole directory, only the check of who reads it knows."""
    if path.endswith("/"):
        return True
    try:
        return os.stat(path).st_ctime_ns > moment - _CLOCK_TICK_NS
    except OSError:
        return False
