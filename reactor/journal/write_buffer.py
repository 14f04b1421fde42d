"""The data that waits to be written. A newer value replaces an older one, so memory stays bounded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from reactor.engine.events import Event
from reactor.journal.diffs import WAITING_LIMIT, size_of, with_short_diffs
from reactor.journal.records import lean
from reactor.journal.refresh_log import Pair
from reactor.journal.undo_records import UndoRecord
from reactor.named_tuple import NamedTuple

EVENT_LIMIT = 10_000
"""Events that may wait for a slow disk. Beyond that, the oldest are dropped and counted."""


class Generation(NamedTuple):
    """One loaded version of the manifest."""

    id: int
    time: float
    manifest: str
    digest: str


Recorded = tuple[Event, int | None]
"""An event and the number of its generation."""


@dataclass(slots=True, eq=False, repr=False)
class Batch:
    """One transaction.

    ``events`` has each event with the number of its generation, and ``dropped`` is how many older ones were dropped.
    ``refreshes`` maps a pair to (pending since, last made). ``resources`` maps a ref to (digest, time), and
    ``originals`` a ref to its undo record; None deletes the row. ``aliases`` maps every alias to its ref, and
    ``members`` has the refs of the newest generation; None leaves the table unchanged.
    """

    refreshes: dict[Pair, tuple[float | None, float | None]] = field(default_factory=dict)
    originals: dict[str, UndoRecord | None] = field(default_factory=dict)
    resources: dict[str, tuple[str, float] | None] = field(default_factory=dict)
    generations: list[Generation] = field(default_factory=list)
    events: deque[Recorded] = field(default_factory=deque)
    dropped: int = 0
    aliases: dict[str, str] | None = None
    members: Collection[str] | None = None

    def __bool__(self) -> bool:
        rows_of_tables = self.refreshes or self.originals or self.resources or self.generations or self.events
        return bool(rows_of_tables) or self.aliases is not None


class WriteBuffer:
    """Collects the next batch. Only the event loop uses it; a batch belongs to the caller that took it."""

    def __init__(self) -> None:
        self._batch = Batch()
        self._diffs_waiting = 0

    @property
    def events(self) -> int:
        """The number of events that wait to be written."""
        return len(self._batch.events)

    def add_event(self, event: Event, generation: int | None) -> None:
        """Add the event; drop the oldest ones if the buffer is full, or too full since a batch was given back."""
        batch = self._batch
        while len(batch.events) >= EVENT_LIMIT:
            dropped, _ = batch.events.popleft()
            self._diffs_waiting -= size_of(dropped)
            batch.dropped += 1
        event = with_short_diffs(event)
        size = size_of(event)
        if self._diffs_waiting + size > WAITING_LIMIT:
            event, size = lean(event), 0
        self._diffs_waiting += size
        batch.events.append((event, generation))

    def set_pending(self, pair: Pair, since: float | None, made: float | None = None) -> None:
        """Set the time since which a refresh is pending; None if it is not. ``made`` is when it was made last."""
        _, made_before = self._batch.refreshes.get(pair, (None, None))
        self._batch.refreshes[pair] = (since, made or made_before)

    def set_applied(self, ref: str, digest: str, now: float) -> None:
        """Set the digest of the applied state of a resource."""
        self._batch.resources[ref] = (digest, now)

    def set_original(self, ref: str, original: UndoRecord | None, *, gone: bool = False) -> None:
        """Set the undo record of a resource; None deletes it. ``gone`` deletes the digest of the resource, too."""
        self._batch.originals[ref] = original
        if gone:
            self._batch.resources[ref] = None

    def add_generation(self, generation: Generation, members: Collection[str]) -> None:
        """Add a generation with the refs ``members``."""
        self._batch.generations.append(generation)
        self._batch.members = members

    def set_aliases(self, aliases: dict[str, str]) -> None:
        """Set all aliases: alias -> ref."""
        self._batch.aliases = aliases

    def restate(
        self,
        pending: Iterable[Pair],
        originals: Iterable[UndoRecord],
        digests: Mapping[str, str],
        aliases: dict[str, str],
    ) -> None:
        """Add all of this state again, for a new file."""
        now = time.time()
        for pair in pending:
            self.set_pending(pair, now)
        for original in originals:
            self.set_original(original.ref, original)
        for ref, digest in digests.items():
            self.set_applied(ref, digest, now)
        self.set_aliases(aliases)

    def take_urgent(self) -> Batch:
        """The data that must be on disk before a change is made."""
        batch = Batch(refreshes=self._batch.refreshes, originals=self._batch.originals)
        self._batch.refreshes, self._batch.originals = {}, {}
        return batch

    def take(self) -> Batch:
        """Everything."""
        batch, self._batch = self._batch, Batch()
        self._diffs_waiting = 0
        return batch

    def give_back(self, batch: Batch) -> None:
        """Put back a batch that could not be written. Newer values replace those in the batch."""
        newer = self._batch
        for pair, (since, made) in newer.refreshes.items():
            _, made_before = batch.refreshes.get(pair, (None, None))
            newer.refreshes[pair] = (since, made or made_before)
        self._diffs_waiting += sum(size_of(event) for event, _ in batch.events)
        self._batch = Batch(
            batch.refreshes | newer.refreshes,
            batch.originals | newer.originals,
            batch.resources | newer.resources,
            batch.generations + newer.generations,
            batch.events + newer.events,
            batch.dropped + newer.dropped,
            batch.aliases if newer.aliases is None else newer.aliases,
            batch.members if newer.members is None else newer.members,
        )
