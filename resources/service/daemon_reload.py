"""Decides when systemd reloads its unit files.

A reload takes a tenth of a second, in which systemd does not answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio

GATHER = 0.05
"""Seconds for which the last check waits for further checks, since the checks of a run begin one after the other."""

LONGEST = 2.0
"""The longest time, in seconds, for which systemd does not know a changed link. Most links matter only at the next
boot."""


class DaemonReloads:
    """The reloads of one systemd, as few as possible for concurrent changes. ``reload`` performs one."""

    def __init__(self, reload: Callable[[], Awaitable[object]]) -> None:
        self._reload = reload
        self._checking = trio.Lock()
        self._pending: dict[str, float] = {}
        """The units whose files were changed, with the times of the changes."""
        self._changing = 0
        self._inside = 0
        self.begun = 0
        """The number of reloads that have begun."""

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Share one reload among all blocks that run at the same time: the last block performs it.

        Raises the errors of ``reload``.
        """
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            if self._pending and self._inside == 0:
                await trio.sleep(GATHER)
            if self._pending and (self._inside == 0 or self._is_overdue()):
                await self.make()

    @contextmanager
    def changing(self, unit: str) -> Iterator[None]:
        """Within the block, change the links of ``unit`` or the file from which it is generated.

        Then a reload is due.
        """
        self._changing += 1
        try:
            yield
            self._add_pending(unit)
        finally:
            self._changing -= 1

    def cover(self, unit: str, begun: int) -> bool:
        """Whether a reload will read the files of ``unit`` anyway: one is due, or has begun after number ``begun``.

        While a reload is due for any unit, systemd 255 and later report every unit as stale. Only the reload shows
        which files have changed, so it must come before the next job of ``unit``.
        """
        if self._pending or self._changing:
            self._add_pending(unit)
            return True
        return self.begun > begun

    def is_pending(self, unit: str) -> bool:
        """Whether a reload is due because of ``unit``."""
        return unit in self._pending

    async def make(self) -> None:
        """Reload now. Changes during the reload make another reload due."""
        self._pending.clear()
        self.begun += 1
        await self._reload()

    async def make_if(self, is_stale: Callable[[], Awaitable[bool]]) -> None:
        """Reload if ``is_stale`` still returns True after the reloads of other checks."""
        async with self._checking:
            if await is_stale():
                await self.make()

    def _add_pending(self, unit: str) -> None:
        self._pending.setdefault(unit, trio.current_time())

    def _is_overdue(self) -> bool:
        return trio.current_time() - min(self._pending.values()) > LONGEST
