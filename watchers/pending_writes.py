"""Delays the check of a file that is written and not closed yet, until no further write has come for a moment.

The kernel sends an event when a file that was written is closed. For a program that keeps its file open, and for a
truncate(2) by path, there is only IN_MODIFY, for each write. So a write starts a wait, which further writes prolong,
up to a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf
from typing import NamedTuple

from reactor import ChangedPaths

BURST = 100
"""The most reads without a pause."""
REFILL = 100.0
"""Further reads without a pause that each second allows."""
EVENT_REFILL = 4
"""Further reads that are allowed by a read that marks a vertex not marked within `WINDOW`: repairs send events,
too."""
PAUSE = 0.01
"""Seconds to wait before a read when all of these are used up. The events of that time are then read together."""
WINDOW = 0.1
"""Seconds after which a marked vertex counts as new again."""


class Pace(NamedTuple):
    """How long a write waits: until no other has come for ``quiet`` seconds, and at most ``latest`` seconds."""

    quiet: float
    latest: float


MANAGED = Pace(quiet=0.005, latest=0.1)
"""For managed files: other programs should not write to them at all."""


INPUT = Pace(quiet=0.1, latest=1.0)
"""For files that are only read, such as the source of a copy: a file that is half written is of no use."""


class _Pending(NamedTuple):
    due: float
    latest: float
    changed_paths: ChangedPaths | None


class PendingWrites:
    """The files that were written and not closed, by vertex and path; the path is empty unless a tree is watched."""

    def __init__(self) -> None:
        self._pending: dict[tuple[int, str], _Pending] = {}
        self.wake_at = inf
        """When to ask `take_due` again, on trio's clock; infinite while nothing is pending."""

    def add(
        self, vertex: int, now: float, pace: Pace, path: str = "", changed_paths: ChangedPaths | None = None
    ) -> None:
        """Note a write at ``now``. ``path`` is added to ``changed_paths`` when it is due."""
        before = self._pending.get((vertex, path))
        latest = now + pace.latest if before is None else before.latest
        due = min(now + pace.quiet, latest)
        self._pending[vertex, path] = _Pending(due, latest, changed_paths)
        self.wake_at = min(self.wake_at, due)

    def discard(self, vertex: int, path: str = "") -> None:
        """Forget a write: its file is checked anyway."""
        self._pending.pop((vertex, path), None)
        if not self._pending:
            self.wake_at = inf

    def discard_each(self, vertices: Iterable[int]) -> None:
        """Forget the writes of single files: they are checked anyway."""
        for vertex in vertices:
            self.discard(vertex)

    def discard_all(self, vertex: int) -> None:
        """Forget all writes for ``vertex``."""
        for other, path in [*self._pending]:
            if other == vertex:
                self.discard(other, path)

    def take_due(self, now: float) -> set[int]:
        """Remove the writes that have waited long enough, and return their vertices."""
        if now < self.wake_at:
            return set()
        due = [(key, pending) for key, pending in self._pending.items() if pending.due <= now]
        for (vertex, path), pending in due:
            del self._pending[vertex, path]
            if pending.changed_paths is not None:
                pending.changed_paths.add(path)
        self.wake_at = min((pending.due for pending in self._pending.values()), default=inf)
        return {vertex for (vertex, _), _ in due}


class ReadThrottle:
    """A token bucket for reads. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._tokens = float(BURST)
        self._refilled_at = 0.0
        self._window_ends = 0.0
        self._marked: set[int] = set()

    @property
    def pause(self) -> float:
        """Seconds to wait before the next read."""
        return PAUSE if self._tokens < 1 else 0.0

    def note(self, marked: Collection[int], now: float) -> None:
        """Note a read, and the vertices that it marked."""
        if now >= self._window_ends:
            self._marked.clear()
            self._window_ends = now + WINDOW
        gained = (now - self._refilled_at) * REFILL - 1
        if not self._marked.issuperset(marked):
            self._marked.update(marked)
            gained += EVENT_REFILL
        self._refilled_at = now
        tokens = self._tokens + gained
        self._tokens = float(BURST) if tokens > BURST else max(0.0, tokens)
