"""The engine's memory and a sink of its events, kept in an SQLite file.

An intent is on the disk when `Journal.intend` returns. Everything else waits in memory until `Journal.run` writes
it, or `Journal.close`: what a kill takes with it costs a line of history or a second refresh, never a lost one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import trio

from reactor.engine.events import Cause, Event
from reactor.journal.digest import Digests
from reactor.journal.records import Selector
from reactor.journal.refresh_log import RefreshLog
from reactor.journal.store import Found, Store, beyond_repair, open_store, set_aside
from reactor.journal.undo_records import UndoRecords
from reactor.journal.write_buffer import Batch, Generation, WriteBuffer
from reactor.resource.base import Resource
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread

INTERVAL = 0.2
"""Seconds that things may wait for others to be written with."""

PLENTY = 500
"""Events that do not wait any longer."""

RETRY_INTERVAL = 5.0
"""Seconds between two attempts to write to a disk that refuses."""

_SLICE = 32
"""Events made into rows before the event descriptors are read again."""


class Journal:
    """Implements `reactor.engine.run_store.RunStore`; `record` is its sink. Touched by the event loop only.

    ``tell`` is given a sentence when the file is moved aside, or the disk begins or ceases to refuse.
    """

    def __init__(
        self, directory: str, manifest: str, store: Store, found: Found, tell: Callable[[str], None]
    ) -> None:
        self._directory = directory
        self._manifest = os.fsencode(manifest).decode(errors="backslashreplace")
        self._store = store
        self._tell = tell
        self._refresh_log = RefreshLog(found.owed)
        self.is_complete = found.complete
        """Whether all is known that earlier runs have left to do."""
        self._undo_records = UndoRecords(found.originals, _anywhere(self._manifest), tell)
        self._desired = Digests()
        self._digests: dict[str, str | None] = {}
        self._applied: dict[str, Resource] = {}
        self._generation = found.generation
        self._aliases = found.aliases
        self._select = Selector(found.troubled)
        self._write_buffer = WriteBuffer()
        self._news = trio.Event()
        self._plenty = trio.Event()
        self._writing = trio.Lock()
        self._thread = trio.CapacityLimiter(1)
        self._asked = 0
        self._durable = 0
        self._refusal = ""

    @classmethod
    def open(cls, directory: str, manifest: str, tell: Callable[[str], None]) -> Journal:
        """Open the journal of a state directory that is locked, for a run of ``manifest``. One of no use is moved aside.

        Raises OSError and sqlite3.Error when the disk refuses.
        """
        store, found, note = open_store(directory)
        if note:
            tell(note)
        return cls(directory, manifest, store, found, tell)

    # ---- the engine's memory ----

    def cause_of(self, resource: Resource) -> Cause:
        """Whether a change now would be the first, or come from the manifest, or from the world."""
        ref = resource.ref
        if self._applied.get(ref) is resource and not resource.source_files():
            return Cause.DRIFT
        if (known := self._digest_of(ref)) is None:
            return Cause.INITIAL
        if known == self._desired.of_desired(resource):
            return Cause.DRIFT
        self._applied.pop(ref, None)  # it is not what it was: `applied` is to look at it again
        return Cause.INTENT

    def owed_refreshes(self) -> dict[str, list[str]]:
        """The refs that owe a refresh, each with those whose changes it owes it for."""
        return self._refresh_log.owing()

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """Write down that ``subscribers`` will owe a refresh. Those that wait at the same time share one commit.

        A disk that refuses does not stop the run: that is told, and then the intent is in memory only.
        """
        now = time.time()
        for pair in self._refresh_log.intend(ref, subscribers):
            self._write_buffer.set_owed(pair, now)
            self._asked += 1
        await self._make_durable(self._asked)

    def can_undo(self, ref: str) -> bool:
        """Whether it is on record how things were before the first change of ``ref``."""
        return ref in self._undo_records

    async def record_reversal(self, ref: str, reversal: Resource) -> None:
        """Write down what brings that back. Raises ResourceError when the disk refuses."""
        self._write_buffer.set_original(ref, self._undo_records.add(ref, reversal))
        self._asked += 1
        await self._make_durable(self._asked)
        if self._refusal:
            self._forget(ref, gone=False)
            hint = "it is changed once the journal can be written again"
            raise ResourceError(f"{ref} could not be undone: {self._refusal}", hint)

    def reversals(self, resources: Mapping[str, Resource]) -> list[Resource]:
        """What undoes those that are not among ``resources`` any more and asked for it, the last changed first."""
        undo, forget = self._undo_records.settle(resources)
        for ref in forget:
            self._forget(ref, gone=ref not in resources)
        return undo

    def undone(self, ref: str) -> None:
        """Know nothing of ``ref`` any more: it is as it was."""
        self._forget(ref, gone=True)

    def held(self) -> list[str]:
        """The refs for which something may be kept outside of the journal, until they are undone."""
        return [row.ref for row in self._undo_records.rows()]

    def _forget(self, ref: str, *, gone: bool) -> None:
        if self._undo_records.drop(ref):
            self._write_buffer.set_original(ref, None, gone=gone)
            self._news.set()
        if gone:
            self._digests[ref] = None
            self._applied.pop(ref, None)

    def applied(self, resource: Resource) -> None:
        """Remember what the resource was made to be. Costs next to nothing while it is the same object."""
        ref = resource.ref
        if self._applied.get(ref) is resource:
            return
        self._applied[ref] = resource
        if resource.meta.reverse and ref not in self._undo_records:
            # It was as desired before we ever changed it.
            self._write_buffer.set_original(ref, self._undo_records.add(ref, None))
            self._news.set()
        digest = self._desired.of_desired(resource)
        if self._digest_of(ref) != digest:
            self._digests[ref] = digest
            self._write_buffer.set_applied(ref, digest, time.time())
            self._news.set()

    def begins(self, ref: str) -> None:
        """A refresh of ``ref`` begins."""
        self._refresh_log.begins(ref)

    def refreshed(self, ref: str) -> None:
        """The refresh succeeded: what it owed when that began is paid."""
        now = time.time()
        for pair in self._refresh_log.refreshed(ref):
            self._write_buffer.set_owed(pair, None, paid=now)
            self._news.set()

    def _digest_of(self, ref: str) -> str | None:
        """Of what ``ref`` was last made to be; None for what never was."""
        if ref not in self._digests:
            self._learn([ref])
        return self._digests[ref]

    def _learn(self, refs: Iterable[str]) -> None:
        """Look up what ``refs`` were last made to be, once. The file may know of many that this manifest does not."""
        unknown = [ref for ref in refs if ref not in self._digests]
        if not unknown:
            return
        self._digests.update(dict.fromkeys(unknown))
        with suppress(sqlite3.Error):  # a disk that refuses is told of when something is written
            self._digests.update(self._store.digests(unknown))

    # ---- history ----

    def begin_generation(self, resources: Iterable[Resource]) -> None:
        """The manifest was loaded and holds ``resources``. The same again is the same generation."""
        resources = list(resources)
        former, in_force = self._store.in_force, frozenset(resource.ref for resource in resources)
        self._store.in_force = in_force
        self._applied = {ref: each for ref, each in self._applied.items() if ref in in_force}
        # What was in force until now may not be on the disk yet, and come back before it is.
        self._digests = {ref: each for ref, each in self._digests.items() if ref in in_force or ref in former}
        self._learn([resource.ref for resource in resources])
        self._note_aliases({f"{each.kind}#{each.alias}": each.ref for each in resources if each.alias})
        digest = self._desired.of_manifest(resources)
        before = self._generation
        if before is None or (before.manifest, before.digest) != (self._manifest, digest):
            self._generation = Generation(before.id + 1 if before else 1, time.time(), self._manifest, digest)
            self._write_buffer.add_generation(self._generation, in_force)
            self._news.set()

    def _note_aliases(self, aliases: dict[str, str]) -> None:
        if aliases != self._aliases:
            self._aliases = aliases
            self._write_buffer.set_aliases(aliases)
            self._news.set()

    def record(self, event: Event) -> None:
        """Take one event. A plain ok is not kept, unless it ends a trouble."""
        if self._select.keeps(event):
            self._write_buffer.add_event(event, self._generation.id if self._generation else None)
            self._news.set()
            if self._write_buffer.events >= PLENTY:
                self._plenty.set()

    # ---- writing ----

    async def run(self) -> None:
        """Write in batches, until cancelled."""
        while True:
            await self._news.wait()
            with trio.move_on_after(INTERVAL):
                await self._plenty.wait()
            self._news, self._plenty = trio.Event(), trio.Event()
            await self.catch_up()
            if self._refusal:
                self._news.set()
                await trio.sleep(RETRY_INTERVAL)

    async def catch_up(self) -> None:
        """Write all that waits: it is time, or somebody is about to read the file."""
        while self._write_buffer.events and self._write_buffer.rows < PLENTY:
            self._write_buffer.make_rows(_SLICE)
            await trio.lowlevel.checkpoint()
        async with self._writing:
            await self._write(self._write_buffer.take())
        if self._write_buffer.events:
            self._news.set()
        if self._write_buffer.events >= PLENTY:
            self._plenty.set()

    def close(self) -> None:
        """Write all that waits and close the file. For when the event loop has ended."""
        self._write_buffer.make_rows(self._write_buffer.events)
        batch = self._write_buffer.take()
        if batch and self._settle(batch, self._attempt(batch, durable=False)):
            batch = self._write_buffer.take()
            self._settle(batch, self._attempt(batch, durable=False))
        self._store.close()

    async def _make_durable(self, ticket: int) -> None:
        if self._durable < ticket:
            async with self._writing:
                if self._durable < ticket:
                    await self._write(self._write_buffer.take_urgent())

    async def _write(self, batch: Batch) -> None:
        """Write in a thread; durably, when somebody waits for that or the disk has refused before.

        Once begun it is not cancelled: the thread has the batch.
        """
        if not batch:
            return
        covered = self._asked
        durable = covered > self._durable or bool(self._refusal)
        with trio.CancelScope(shield=True):
            error = await self._attempt_in_thread(batch, durable)
            if self._settle(batch, error):
                batch = self._write_buffer.take()
                self._settle(batch, await self._attempt_in_thread(batch, durable))
        self._durable = covered

    async def _attempt_in_thread(self, batch: Batch, durable: bool) -> sqlite3.Error | OSError | None:
        attempt = partial(self._attempt, batch, durable=durable)
        try:
            return await in_thread(attempt, limiter=self._thread)
        except OSError as error:  # there is no thread
            return error

    def _attempt(self, batch: Batch, *, durable: bool) -> sqlite3.Error | None:
        try:
            self._store.write(batch, durable=durable)
        except sqlite3.Error as error:
            return error
        return None

    # ---- when the disk or the file fails ----

    def is_lost(self) -> bool:
        """Whether somebody has removed the file."""
        return self._store.is_lost()

    async def renew(self) -> None:
        """Begin a new file with what is known, in place of one that was removed."""
        async with self._writing:
            self._store.close()
            self._begin_anew()
        self._news.set()

    def _settle(self, batch: Batch, error: sqlite3.Error | OSError | None) -> bool:
        """See what came of an attempt. Returns whether there is a new file that wants it all again."""
        if error is None:
            if self._refusal:
                self._refusal = ""
                self._tell("the journal is written again")
            return False
        self._write_buffer.give_back(batch)
        if beyond_repair(error):
            self._put_aside(error)
        if self._store.closed:
            return self._begin_anew()
        self._refuse(error)
        return False

    def _refuse(self, error: Exception) -> None:
        if not self._refusal:
            self._tell(
                f"the journal can't be written: {error}; the run goes on, but until that is mended a refresh that is "
                "owed is forgotten when the process ends"
            )
        self._refusal = str(error)
        self._news.set()

    def _put_aside(self, error: Exception) -> None:
        self._store.close()
        with suppress(OSError):  # what keeps it there is told when a new one can't be begun
            self._tell(f"the journal is of no use ({error}), and moved to {set_aside(self._directory)}")

    def _begin_anew(self) -> bool:
        """Open a new file for all that is known. Returns whether that went well; if not, the next batch tries again."""
        try:
            store, _, _ = open_store(self._directory)
        except (OSError, sqlite3.Error) as refusal:
            self._refuse(refusal)
            return False
        store.in_force, self._store = self._store.in_force, store
        self._write_buffer.restate(
            self._refresh_log.pairs(), self._undo_records.rows(), self._digests, self._aliases
        )
        if self._generation:
            self._write_buffer.add_generation(self._generation, store.in_force)
        return True


def _anywhere(manifest: str) -> str:
    """What the manifest is called from every directory. An address is no path."""
    return manifest if "://" in manifest else os.path.abspath(manifest)
