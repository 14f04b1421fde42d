"""Waits for the next reason to look. Reasons that come close together are one."""

from __future__ import annotations

import random

import trio

_TOGETHER = 0.02
"""Seconds in which several hints are one."""
_SPREAD = 0.2


class DebouncedEvent:
    """Set from callbacks, waited for by one task."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def set(self) -> None:
        """Tell that there is a reason."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Return after a reason, or after about ``seconds`` without one."""
        with trio.move_on_after(jittered(seconds)):
            await self._event.wait()
            await trio.sleep(_TOGETHER)
        self._event = trio.Event()


def jittered(seconds: float) -> float:
    """Return about ``seconds``, so that many hosts do not act at once."""
    return seconds * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - no secret
