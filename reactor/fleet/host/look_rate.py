"""Limits how often a host reads something: otherwise anyone who can send hints could keep hosts and servers busy."""

from __future__ import annotations

from collections import deque

import trio

BURST = 10
"""How many reads may follow each other quickly, if nothing else is said."""


class LookRate:
    """``burst`` reads may follow each other quickly; over a longer time there is one per second."""

    def __init__(self, burst: int = BURST) -> None:
        self._looks: deque[float] = deque(maxlen=burst)

    async def turn(self) -> None:
        """Wait until the next read may begin."""
        burst = self._looks.maxlen or 1
        if len(self._looks) == burst:
            await trio.sleep(max(0.0, self._looks[0] + burst - trio.current_time()))
        self._looks.append(trio.current_time())
