"""The journal of a run as a source of the events that a fleet gets. It is read and written in threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import trio

from reactor.journal.sent_events import Backlog, Batch, SentEvents

if TYPE_CHECKING:
    from reactor.journal.journal import Journal

STREAM = "fleet"
_T = TypeVar("_T")


class JournalEvents:
    """Implements `reactor.fleet.host.ports.EventLog`. While the disk fails there are no events to send."""

    no_backlog = Backlog()

    def __init__(self, journal: Journal, directory: str) -> None:
        self._journal = journal
        self._sent = SentEvents(directory, STREAM)
        self._has_own_ids = False

    async def next_batch(self, most_events: int, most_bytes: int) -> Batch | None:
        """The oldest events that are not acknowledged."""
        await self._journal.catch_up()
        if not self._has_own_ids:
            self._has_own_ids = await _read(self._sent.renew, False)
        return await _read(lambda: self._sent.next_batch(most_events, most_bytes), None)

    async def acknowledge(self, batch: Batch) -> None:
        """Note that ``batch`` has arrived. If the disk fails, it is sent again, and the server drops it."""
        await _read(lambda: self._sent.acknowledge(batch), None)

    async def backlog(self) -> Backlog:
        """The events that were not sent yet."""
        return await _read(self._sent.backlog, self.no_backlog)


async def _read(work: Callable[[], _T], otherwise: _T) -> _T:
    try:
        return await trio.to_thread.run_sync(work)
    except (sqlite3.Error, OSError, ValueError):
        return otherwise
