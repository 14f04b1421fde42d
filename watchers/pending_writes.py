"""Writes whose file is still open, or was never opened: each is looked at once they pause.

Whoever closes a file says so by an event of its own. A truncate(2) by path, and a program that keeps its file open, send
only IN_MODIFY, one for each write. So a write starts a wait, which each further one prolongs, up to a limit.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import NamedTuple

from reactor import ChangedPaths

BURST = 100
"""Reads without news that are made as soon as there is something to read."""
REFILL = 100.0
"""How many of these are regained in a second."""
NEWS_REFILL = 4
"""How many are regained by one read with news: a repair of ours is followed by events, too."""
PAUSE = 0.01
"""Seconds to wait before a read when they are used up: all that comes meanwhile is read at once."""
WINDOW = 0.1
"""Seconds in which a vertex is news once."""


class Pace(NamedTuple):
    """How long a write waits, in seconds: until no other came for ``quiet``, and never longer than ``latest``."""

    quiet: float
    latest: float


MANAGED = Pace(quiet=0.005, latest=0.1)
"""For what is kept as it should be: nobody may rely on a write to it."""


INPUT = Pace(quiet=0.1, latest=1.0)
"""For what is only read, such as the source of a copy: half of it is of no use, and who writes it has a right to finish."""


class _Pending(NamedTuple):
    due: float
    latest: float
    heard: ChangedPaths | None


class PendingWrites:
    """What was written and not closed: a vertex, with the path in a tree that it was told of, or an empty path."""

    def __init__(self) -> None:
        self._pending: dict[tuple[int, str], _Pending] = {}
        self.wake_at = inf
        """When to ask `take_due` again, on trio's clock; infinite while nothing is pending."""

    def add(
        self, vertex: int, now: float, pace: Pace, path: str = "", heard: ChangedPaths | None = None
    ) -> None:
        """Note a write at ``now``. ``path`` is added to ``heard`` when it is due."""
        before = self._pending.get((vertex, path))
        latest = now + pace.latest if before is None else before.latest
        due = min(now + pace.quiet, latest)
        self._pending[vertex, path] = _Pending(due, latest, heard)
        self.wake_at = min(self.wake_at, due)

    def discard(self, vertex: int, path: str = "") -> None:
        """Forget a write: what it was to is looked at anyway."""
        self._pending.pop((vertex, path), None)
        if not self._pending:
            self.wake_at = inf

    def discard_all(self, vertex: int) -> None:
        """Forget all writes for ``vertex``."""
        for other, path in [*self._pending]:
            if other == vertex:
                self.discard(other, path)

    def take_due(self, now: float) -> set[int]:
        """The vertices whose writes have waited long enough, which are then forgotten."""
        if now < self.wake_at:
            return set()
        due = [(key, pending) for key, pending in self._pending.items() if pending.due <= now]
        for (vertex, path), pending in due:
            del self._pending[vertex, path]
            if pending.heard is not None:
                pending.heard.add(path)
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
            gained += NEWS_REFILL
        self._refilled_at = now
        self._tokens = max(0.0, min(BURST, self._tokens + gained))
