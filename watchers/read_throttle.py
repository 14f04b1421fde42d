"""Bounds what it costs to hear of things that are no news: one read for each event is dear where somebody writes without end."""

from __future__ import annotations

from collections.abc import Collection

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
