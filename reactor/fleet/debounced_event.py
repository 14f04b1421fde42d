"""An event that merges signals that come close together."""

from __future__ import annotations

import random

import trio

_TOGETHER = 0.02
"""Signals within this many seconds are merged."""
_SPREAD = 0.2


class DebouncedEvent:
    """Set from callbacks, waited for by one task, which is woken once.

    ``at_once``: the first signal wakes the task without delay, unless the task has only just begun to wait.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._delay = 0.0 if at_once else _TOGETHER
        self._is_set = False
        self._earliest = 0.0
        self._waiting: trio.CancelScope | None = None
        self._wake = trio.Event()

    def set(self) -> None:
        """Signal the event."""
        self._is_set = True
        if self._waiting is None:
            return
        now = trio.current_time()
        due = max(now + self._delay, self._earliest)
        if due <= now:
            self._wake.set()  # this takes less than a deadline, and is what a hint does on each host
        elif due < self._waiting.deadline:
            self._waiting.deadline = due

    async def wait(self, seconds: float, *, least: float = _TOGETHER) -> None:
        """Return when the event was set, or after about ``seconds``; in no case before ``least`` seconds."""
        now = trio.current_time()
        self._earliest = now + least
        self._wake = trio.Event()
        due = self._earliest if self._is_set else max(now + jittered(seconds), self._earliest)
        try:
            with trio.CancelScope(deadline=due) as self._waiting:
                await self._wake.wait()
        finally:
            self._waiting = None
        self._is_set = False


def jittered(seconds: float) -> float:
    """Return ``seconds`` with random jitter, so that many hosts do not act at once."""
    return seconds * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - no secret
