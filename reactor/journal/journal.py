"""The persistent state of the engine and the history of its events, in an SQLite file.

`Journal.intend` returns when the intent (the refreshes that a change will need) is on disk. All other data waits in
memory until `Journal.run` or `Journal.close` writes it: if the process is killed, a line of history may be lost, or a
refresh made twice, but no refresh is lost.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from reactor.engine.events import Cause, Event
from reactor.journal.digest import Digests, ManifestDigest, held_secrets, parse_digest, text_of
from reactor.journal.records import Selector
from reactor.journal.refresh_log import RefreshLog
from reactor.journal.store import Found, Store, open_store
from reactor.journal.undo_records import UndoRecords
from reactor.journal.write_buffer import Generation, WriteBuffer
from reactor.journal.writer import JournalWriter
from reactor.resource.base import Resource
from reactor.resource.plan import ResourceError


class Journal:
    """Implements `reactor.engine.run_store.RunStore`; `record` is the sink of events. Used by the event loop only.

    ``warn`` is called when the file is moved aside, and when the disk starts or stops failing.
    """

    def __init__(
        self, directory: str, manifest: str, store: Store, found: Found, warn: Callable[[str], None]
    ) -> None:
        self._manifest = os.fsencode(manifest).decode(errors="backslashreplace")
        self._refresh_log = RefreshLog(found.pending)
        self.is_complete = found.complete
        """Whether all pending refreshes of earlier runs are known."""
        self._undo_records = UndoRecords(found.originals, self._manifest, warn)
        self._desired = Digests()
        self._digests: dict[str, int | None] = {}
        self._applied: dict[str, Resource | None] = {}
        """The resource that was applied last, by each ref of the manifest. Its refs are also those of the store."""
        self._generation = found.generation
        self._aliases = found.aliases
        self._select = Selector(found.failing)
        self._write_buffer = WriteBuffer()
        self._writer = JournalWriter(directory, store, self._write_buffer, warn, self._restate)

    @classmethod
    def open(cls, directory: str, manifest: str, warn: Callable[[str], None]) -> Journal:
        """Open the journal of a locked state directory, for a run of ``manifest``. An unusable one is moved aside.

        Raises OSError and sqlite3.Error for an error of the disk.
        """
        store, found, note = open_store(directory)
        if note:
            warn(note)
        return cls(directory, manifest, store, found, warn)

    # ---- the state of the engine ----

    def cause_of(self, resource: Resource) -> Cause:
        """Why ``resource`` is changed now: it was never applied, the manifest was edited, or the host drifted."""
        ref = resource.ref
        if self._applied.get(ref) is resource and not resource.source_files():
            return Cause.DRIFT
        if (known := self._digest_of(ref)) is None:
            return Cause.INITIAL
        if known == self._desired.of_desired(resource):
            return Cause.DRIFT
        self._note_applied(ref, None)  # the desired state has changed: `applied` must compare it again
        return Cause.INTENT

    def held_secrets(self, ref: str) -> bool:
        """Whether ``ref`` held secrets when it was last applied."""
        digest = self._digest_of(ref)
        return digest is not None and held_secrets(digest)

    def pending_refreshes(self) -> dict[str, list[str]]:
        """The refreshes that are still pending from earlier runs: subscriber -> the sources whose change caused them."""
        return self._refresh_log.by_subscriber()

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """Record on disk that ``subscribers`` must be refreshed after ``ref`` changes. Concurrent calls share one commit.

        A failing disk does not stop the run: there is a warning, and the intent is in memory only.
        """
        now = time.time()
        for pair in self._refresh_log.intend(ref, subscribers):
            self._write_buffer.set_pending(pair, now)
            self._writer.require_durable()
        await self._writer.make_durable()

    def pass_on(self, ref: str, subscribers: Sequence[str]) -> None:
        """Record pending refreshes that a loop has held. They are on the disk before those of the loop are gone."""
        now = time.time()
        for pair in self._refresh_log.intend(ref, subscribers):
            self._write_buffer.set_pending(pair, now)
        self._writer.wake()

    def can_undo(self, ref: str) -> bool:
        """Whether there is an undo record for ``ref``."""
        return self._undo_records.can_undo(ref)

    def reversal_of(self, ref: str) -> Resource | None:
        """The resource that undoes ``ref``; None if there is none, or nothing to undo."""
        return self._undo_records.reversal_of(ref)

    async def record_reversal(self, ref: str, reversal: Resource) -> None:
        """Record on disk the resource that undoes ``ref``. Raises ResourceError for an error of the disk."""
        former = self._undo_records.get(ref)
        self._write_buffer.set_original(ref, self._undo_records.add(ref, reversal))
        self._writer.require_durable()
        await self._writer.make_durable()
        if self._writer.refusal:
            self._forget(ref, gone=False)
            if former is not None:
                self._write_buffer.set_original(ref, self._undo_records.put(former))
            hint = "the resource is changed once the journal can be written again"
            reason = f"the change could not be undone: {self._writer.refusal}"
            raise ResourceError(f"{ref} stays unchanged, because {reason}", hint)

    def reversals(
        self, resources: Mapping[str, Resource], may_have: Callable[[str], bool] | None = None
    ) -> list[Resource]:
        """The resources that undo everything that left the manifest with ``reverse: true``, the last changed first."""
        undo, forget = self._undo_records.compare(resources, may_have or resources.__contains__)
        for ref in forget:
            self._forget(ref, gone=ref not in resources)
        return undo

    def undone(self, ref: str) -> None:
        """Delete all records of ``ref`` after it was undone."""
        self._forget(ref, gone=True)

    def hand_over(self, ref: str, heir: str, reversal: Resource) -> None:
        """Let ``reversal``, which would undo ``ref``, undo ``heir``. Until it is on the disk, the next run does it again."""
        self._write_buffer.set_original(heir, self._undo_records.add(heir, reversal))
        self._forget(ref, gone=True)

    def held(self) -> list[str]:
        """The refs with undo records. The file contents that undo needs are kept outside of the journal."""
        return [row.ref for row in self._undo_records.rows()]

    def _forget(self, ref: str, *, gone: bool) -> None:
        if self._undo_records.drop(ref):
            self._write_buffer.set_original(ref, None, gone=gone)
            self._writer.wake()
        if gone:
            self._digests[ref] = None
            self._note_applied(ref, None)

    def applied(self, resource: Resource) -> None:
        """Record that the desired state was applied. Costs almost nothing for the same object as last time."""
        ref = resource.ref
        if self._applied.get(ref) is resource:
            return
        self._note_applied(ref, resource)
        if resource.meta.reverse and not self.can_undo(ref):
            # It was as desired from the start, so there is nothing to undo.
            self._write_buffer.set_original(ref, self._undo_records.add(ref, None))
            self._writer.wake()
        digest = self._desired.of_desired(resource)
        self._desired.forget(ref)
        if self._digest_of(ref) != digest:
            self._digests[ref] = digest
            self._write_buffer.set_applied(ref, text_of(digest), time.time())
            self._writer.wake()

    def _note_applied(self, ref: str, resource: Resource | None) -> None:
        if ref in self._applied:  # its size must not change, because a thread may iterate over it
            self._applied[ref] = resource

    def begins(self, ref: str) -> None:
        """Note that a refresh of ``ref`` begins."""
        self._refresh_log.begins(ref)

    def refreshed(self, ref: str) -> None:
        """Record that a refresh of ``ref`` succeeded. It completes the refreshes that were pending when it began."""
        now = time.time()
        for pair in self._refresh_log.refreshed(ref):
            self._write_buffer.set_pending(pair, None, made=now)
            self._writer.wake()

    def _digest_of(self, ref: str) -> int | None:
        """The digest of the last applied desired state of ``ref``; None if it was never applied."""
        if ref not in self._digests:
            self._load_digests([ref])
        return self._digests[ref]

    def _load_digests(self, refs: Iterable[str]) -> None:
        """Load the digests of ``refs`` unless they are loaded. The file may have many others, of other manifests."""
        unknown = [ref for ref in refs if ref not in self._digests]
        if not unknown:
            return
        self._digests.update(dict.fromkeys(unknown))
        with suppress(sqlite3.Error):  # a failing disk is reported at the next write
            found = self._writer.store.digests(unknown)
            self._digests.update((ref, parse_digest(text)) for ref, text in found.items())

    # ---- history ----

    def prepare_generation(self, resources: Mapping[str, Resource]) -> Callable[[], None]:
        """Implements `reactor.engine.run_store.RunStore`. The same manifest again is the same generation."""
        refs, former, compared = [*resources], self._writer.store.in_force, self._applied
        applied, digests = compared.copy(), self._digests.copy()
        # Digests of the former version may not be on disk yet, and its resources may come back before they are.
        forgotten = [ref for ref in digests if ref not in resources and ref not in former]
        unknown = [ref for ref in refs if ref not in digests]
        aliases = {f"{each.kind}#{each.alias}": ref for ref, each in resources.items() if each.alias}
        manifest = ManifestDigest(resources, _known_digests(applied, digests))
        are_same = [*applied] == refs

        def begin() -> None:
            if not (are_same and self._applied is compared):  # most reloads add and remove nothing
                self._applied = dict(zip(refs, map(self._applied.get, refs), strict=True))
            self._writer.store.in_force = self._applied
            for ref in forgotten:
                self._digests.pop(ref, None)
            self._load_digests(unknown)
            self._note_aliases(aliases)
            self._desired.adopt(manifest)
            self._begin(manifest.digest)

        return begin

    def _begin(self, digest: str) -> None:
        before = self._generation
        if before is None or (before.manifest, before.digest) != (self._manifest, digest):
            self._generation = Generation(before.id + 1 if before else 1, time.time(), self._manifest, digest)
            self._write_buffer.add_generation(self._generation, self._applied)
            self._writer.wake()

    def _note_aliases(self, aliases: dict[str, str]) -> None:
        if aliases != self._aliases:
            self._aliases = aliases
            self._write_buffer.set_aliases(aliases)
            self._writer.wake()

    def record(self, event: Event) -> None:
        """Take one event. An ok without changes is kept only after a failure."""
        if self._select.keeps(event):
            self._write_buffer.add_event(event, self._generation.id if self._generation else None)
            self._writer.wake()

    # ---- the file ----

    async def run(self) -> None:
        """Write in batches, until cancelled."""
        await self._writer.run()

    async def catch_up(self) -> None:
        """Write all waiting events. Call it also before the file is read."""
        await self._writer.catch_up()

    def close(self) -> None:
        """Write all waiting events and close the file. Call it after the event loop has ended."""
        self._writer.close()

    @property
    def refusal(self) -> str:
        """Why the last write failed; empty if it succeeded."""
        return self._writer.refusal

    def is_lost(self) -> bool:
        """Whether the file or its WAL was removed, replaced or emptied."""
        return self._writer.store.is_lost()

    async def renew(self) -> None:
        """Write all known state to a new file after the old one was removed."""
        await self._writer.renew()

    def _restate(self) -> None:
        """Queue all known state, for a new file."""
        digests = {ref: text_of(digest) for ref, digest in self._digests.items() if digest is not None}
        self._write_buffer.restate(
            self._refresh_log.pairs(), self._undo_records.rows(), digests, self._aliases
        )
        if self._generation:
            self._write_buffer.add_generation(self._generation, self._writer.store.in_force)


def _known_digests(
    applied: Mapping[str, Resource | None], digests: Mapping[str, int | None]
) -> dict[str, tuple[Resource, int]]:
    """The resources that were applied and their digests, unless the digests include stamps of source files."""
    return {
        ref: (each, digest)
        for ref, each in applied.items()
        if each is not None and (digest := digests.get(ref)) is not None and not each.source_files()
    }
