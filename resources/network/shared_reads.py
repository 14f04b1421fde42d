"""One reading of a kernel's table serves all who ask for it at the same time.

To read a table takes as long as it is long. Were it read for each check, to check all that is in it would be quadratic.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import trio

_Table = TypeVar("_Table")
_Read = Callable[[], Awaitable[_Table]]


class _PendingRead(Generic[_Table]):
    """One that is yet to begin, for ``company`` besides who carries it out. Without an ``answer`` it came to nothing."""

    def __init__(self) -> None:
        self.company = 0
        self.over = trio.Event()
        self.answer: _Table | None = None


class SharedReads(Generic[_Table]):
    """Who asks alone is answered at once; who asks in a crowd is answered with it.

    It is a crowd when a question follows the last answer sooner than that took: so at most half of the time goes into
    reading, and one thing that drifts waits for nobody.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._to_come: dict[Hashable, _PendingRead[_Table]] = {}
        self._crowded_until = 0.0

    async def read(self, key: Hashable, at_once: _Read[_Table], later: _Read[_Table]) -> _Table:
        """The table ``key`` as it was after this was called, read by ``at_once`` or, for others as well, by ``later``.

        Raises what these raise.
        """
        while (reading := self._to_come.get(key)) is not None:
            reading.company += 1
            await reading.over.wait()
            if reading.answer is not None:
                return reading.answer
        if self._clock() >= self._crowded_until:
            return await self._timed(at_once)
        return await self._read_for_all(key, later)

    async def _read_for_all(self, key: Hashable, read: _Read[_Table]) -> _Table:
        reading = self._to_come[key] = _PendingRead()
        try:
            try:
                await _gathered(reading)
            finally:
                del self._to_come[key]  # who asks from now on may ask about what this reading misses
            reading.answer = answer = await self._timed(read)
            return answer
        finally:
            reading.over.set()

    async def _timed(self, read: _Read[_Table]) -> _Table:
        began = self._clock()
        answer = await read()
        ended = self._clock()
        self._crowded_until = ended + (ended - began)
        return answer


async def _gathered(reading: _PendingRead[_Table]) -> None:
    """Wait for as long as more keep coming: in a turn of the loop one comes at least, and in the next is counted."""
    counted = -1
    while reading.company > counted:
        counted = reading.company
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
