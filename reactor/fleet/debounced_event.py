"""An event that merges signals that come close together."""

from __future__ import annotations

import random

import trio

_TOGETHER = 0.02
"""Signals within this many seconds are merged."""
_SPREAD = 0.2


class DebouncedEvent:
    """Set from callbacks, waited for by one task."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def set(self) -> None:
        """Signal the event."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Return when the event was set, or after about ``seconds``."""
        with trio.move_on_after(jittered(seconds)):
            await self._event.wait()
            await trio.sleep(_TOGETHER)
        self._event = trio.Event()


def jittered(seconds: float) -> float:
    """Return ``seconds`` with random jitter, so that many hosts do not act at once."""
    return seconds * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - no secret
