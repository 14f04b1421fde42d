"""Writes the waiting data of the journal in batches, in a thread, and copes with a failing disk and a damaged file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import trio

from reactor.journal.store import Store, beyond_repair, open_store, set_aside
from reactor.journal.write_buffer import Batch, WriteBuffer
from reactor.resource.threads import in_thread

INTERVAL = 0.2
"""Seconds that events may wait to be written together."""

PLENTY = 2000
"""With this number of waiting events, the journal writes at once, without waiting for the rest of `INTERVAL`.

What is written together changes each page of the file once.
"""

_FEW = 300
"""Events that repairs make in `INTERVAL`. More come of a first convergence, which needs no better priority."""

RETRY_INTERVAL = 5.0
"""Seconds between two attempts to write to a failing disk."""


class JournalWriter:
    """Writes what ``write_buffer`` collects. Used by the event loop only.

    ``warn`` is called when the file is moved aside, and when the disk starts or stops failing. ``restate`` queues all
    known state; it is called when a new file was started.
    """

    def __init__(
        self,
        directory: str,
        store: Store,
        write_buffer: WriteBuffer,
        warn: Callable[[str], None],
        restate: Callable[[], None],
    ) -> None:
        self.store = store
        self.refusal = ""
        """Why the last write failed; empty if it succeeded."""
        self._directory = directory
        self._write_buffer = write_buffer
        self._warn = warn
        self._restate = restate
        self._new_data = trio.Event()
        self._plenty = trio.Event()
        self._writing = trio.Lock()
        self._thread = trio.CapacityLimiter(1)
        self._asked = 0
        self._durable = 0

    def wake(self) -> None:
        """Write soon: there is something in the buffer; at once if there is plenty."""
        self._new_data.set()
        if self._write_buffer.events >= PLENTY:
            self._plenty.set()

    async def run(self) -> None:
        """Write in batches, until cancelled."""
        while True:
            await self._new_data.wait()
            with trio.move_on_after(INTERVAL):
                await self._plenty.wait()
            self._new_data, self._plenty = trio.Event(), trio.Event()
            await self.catch_up()
            if self.refusal:
                self._new_data.set()
                await trio.sleep(RETRY_INTERVAL)

    async def catch_up(self) -> None:
        """Write all waiting events."""
        async with self._writing:
            await self._write(self._write_buffer.take())

    def close(self) -> None:
        """Write all waiting events and close the file. Call it after the event loop has ended."""
        batch = self._write_buffer.take()
        if batch and self._settle(batch, self._attempt(batch, durable=False)):
            batch = self._write_buffer.take()
            self._settle(batch, self._attempt(batch, durable=False))
        self.store.close()

    def require_durable(self) -> None:
        """The data that was put into the buffer last must be on disk before `make_durable` returns."""
        self._asked += 1

    async def make_durable(self) -> None:
        """Return when all data that `require_durable` was called for is on disk. Concurrent calls share one commit."""
        ticket = self._asked
        if self._durable < ticket:
            async with self._writing:
                if self._durable < ticket:
                    await self._write(self._write_buffer.take_urgent())

    async def renew(self) -> None:
        """Write all known state to a new file after the old one, or its WAL, was removed."""
        async with self._writing:
            self.store.save_log()
            self.store.close()
            self._start_new_file()
        self._new_data.set()

    async def _write(self, batch: Batch) -> None:
        """Write the batch in a thread. The write is durable if a caller waits for that, or after an error of the disk.

        A write that has begun can't be cancelled, because the thread has the batch.
        """
        if not batch:
            return
        covered = self._asked
        durable = covered > self._durable or bool(self.refusal)
        with trio.CancelScope(shield=True):
            error = await self._attempt_in_thread(batch, durable)
            if self._settle(batch, error):
                batch = self._write_buffer.take()
                self._settle(batch, await self._attempt_in_thread(batch, durable))
        self._durable = covered

    async def _attempt_in_thread(self, batch: Batch, durable: bool) -> sqlite3.Error | OSError | None:
        attempt = partial(self._attempt, batch, durable=durable)
        try:
            return await in_thread(attempt, limiter=self._thread, gives_way=len(batch.events) <= _FEW)
        except OSError as error:  # no thread can be started
            return error

    def _attempt(self, batch: Batch, *, durable: bool) -> sqlite3.Error | None:
        try:
            self.store.write(batch, durable=durable)
        except sqlite3.Error as error:
            return error
        return None

    # ---- when the disk or the file fails ----

    def _settle(self, batch: Batch, error: sqlite3.Error | OSError | None) -> bool:
        """Handle the result of a write. Return whether there is a new file, which needs all state again."""
        if error is None:
            if self.refusal:
                self.refusal = ""
                self._warn("the journal is written again")
            return False
        self._write_buffer.give_back(batch)
        if beyond_repair(error):
            self._put_aside(error)
        if self.store.closed:
            return self._start_new_file()
        self._refuse(error)
        return False

    def _refuse(self, error: Exception) -> None:
        if not self.refusal:
            self._warn(
                f"the journal can't be written: {error}; the run goes on, but until that is fixed, pending refreshes "
                "are lost when the process ends"
            )
        self.refusal = str(error)
        self._new_data.set()

    def _put_aside(self, error: Exception) -> None:
        self.store.close()
        with suppress(OSError):  # the error is reported when a new file can't be created
            self._warn(f"the journal can't be used ({error}); it was moved to {set_aside(self._directory)}")

    def _start_new_file(self) -> bool:
        """Open a new file, and queue all known state for it. Return False if that failed; the next batch retries."""
        try:
            store, _, _ = open_store(self._directory)
        except (OSError, sqlite3.Error) as refusal:
            self._refuse(refusal)
            return False
        store.in_force, self.store = self.store.in_force, store
        self._restate()
        return True
