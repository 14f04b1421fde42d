"""Splits long work in the event loop into pieces, so that a repair goes first."""

from __future__ import annotations

import trio

from reactor.engine.worker_pool import SLICE


class TimeSlice:
    """A time slice for one task. Call `step` for each small piece of work."""

    def __init__(self) -> None:
        self._end = trio.current_time() + SLICE

    async def step(self) -> None:
        """Yield to other tasks if the time slice is used up."""
        if trio.current_time() > self._end:
            await trio.lowlevel.checkpoint()
            self._end = trio.current_time() + SLICE
