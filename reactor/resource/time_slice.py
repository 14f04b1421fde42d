"""Splits long work into short slices, so that other tasks of the loop never wait long."""

from __future__ import annotations

from time import perf_counter

import trio

SLICE = 0.0005
"""Seconds of work between two checkpoints. An event under load waits half of it on average."""


class TimeSlice:
    """Measures a slice of work. Call `step` for each small piece of it.

    Where pieces are very many, ``if time_slice.used_up(): await time_slice.yield_to_loop()`` does the same in less time.
    """

    def __init__(self) -> None:
        self._ends = perf_counter() + SLICE

    def used_up(self) -> bool:
        """Whether the slice is used up, so that other tasks should run."""
        return perf_counter() >= self._ends

    async def yield_to_loop(self) -> None:
        """Let other tasks run, and begin a new slice."""
        await trio.lowlevel.checkpoint()
        self._ends = perf_counter() + SLICE

    async def step(self) -> None:
        """Let other tasks run if the slice is used up."""
        if self.used_up():
            await self.yield_to_loop()
