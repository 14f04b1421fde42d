"""An event that merges signals that come close together."""

from __future__ import annotations

import random

import trio

_TOGETHER = 0.02
"""Signals within this many seconds are merged."""
_SPREAD = 0.2


class DebouncedEvent:
    """Set from callbacks, waited for by one task, which is woken once."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: trio.CancelScope | None = None

    def set(self) -> None:
        """Signal the event."""
        self._is_set = True
        if self._waiting is not None:
            self._waiting.deadline = min(self._waiting.deadline, trio.current_time() + _TOGETHER)

    async def wait(self, seconds: float) -> None:
        """Return when the event was set, or after about ``seconds``."""
        seconds = jittered(seconds)
        try:
            with trio.move_on_after(min(seconds, _TOGETHER) if self._is_set else seconds) as self._waiting:
                await trio.sleep_forever()
        finally:
            self._waiting = None
        self._is_set = False


def jittered(seconds: float) -> float:
    """Return ``seconds`` with random jitter, so that many hosts do not act at once."""
    return seconds * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - no secret
