"""When systemd reads its files anew: that takes it a tenth of a second, in which it answers nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio

GATHER = 0.05
"""Seconds for which whoever leaves last waits for others: those whose watches are armed one after the other."""

LONGEST = 2.0
"""Seconds for which systemd may not know of a changed link. Until its next boot nothing depends on most of them."""


class DaemonReloads:
    """One systemd's reloads: as few as do for all that is changed at once. ``reload`` makes one."""

    def __init__(self, reload: Callable[[], Awaitable[object]]) -> None:
        self._reload = reload
        self._checking = trio.Lock()
        self._owed: dict[str, float] = {}
        """Whose files were changed, and when."""
        self._changing = 0
        self._inside = 0
        self.begun = 0
        """How many have begun."""

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Owe in here what was changed: whoever leaves last makes one reload for all. Raises what that raises."""
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            if self._owed and self._inside == 0:
                await trio.sleep(GATHER)
            if self._owed and (self._inside == 0 or self._is_overdue()):
                await self.make()

    @contextmanager
    def changing(self, unit: str) -> Iterator[None]:
        """Change the links of ``unit`` in here, or the file from which units of this name are made; then it is owed."""
        self._changing += 1
        try:
            yield
            self._owe(unit)
        finally:
            self._changing -= 1

    def cover(self, unit: str, begun: int) -> bool:
        """Whether one reads the files of ``unit`` anyway: it has begun since ``begun`` was their number, or will soon.

        As long as it is owed to any unit, systemd 255 and later say of every unit that it should read its files. Which
        have changed only the reload itself can tell, so that it has to come before the next job of ``unit``.
        """
        if self._owed or self._changing:
            self._owe(unit)
            return True
        return self.begun > begun

    def is_owed(self, unit: str) -> bool:
        """Whether systemd is to be told of the links of ``unit``."""
        return unit in self._owed

    async def make(self) -> None:
        """Reload now. What is changed while that goes on is owed again."""
        self._owed.clear()
        self.begun += 1
        await self._reload()

    async def make_if(self, is_stale: Callable[[], Awaitable[bool]]) -> None:
        """Reload if that is still needed once others have done so."""
        async with self._checking:
            if await is_stale():
                await self.make()

    def _owe(self, unit: str) -> None:
        self._owed.setdefault(unit, trio.current_time())

    def _is_overdue(self) -> bool:
        return trio.current_time() - min(self._owed.values()) > LONGEST
