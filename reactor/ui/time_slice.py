"""Long work in the event loop, in pieces: whatever the page asks for, a repair goes first."""

from __future__ import annotations

import trio

from reactor.engine.worker_pool import SLICE


class TimeSlice:
    """Ask it once for each small piece of work: it lets others have their turn when it is time."""

    def __init__(self) -> None:
        self._end = trio.current_time() + SLICE

    async def step(self) -> None:
        """Go on, or let others go on first."""
        if trio.current_time() > self._end:
            await trio.lowlevel.checkpoint()
            self._end = trio.current_time() + SLICE
