"""What waits to be written, by what it is about: later words replace earlier ones, and so memory stays bounded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reactor.engine.events import Event
from reactor.journal.diffs import WAITING_LIMIT, size_of, with_short_diffs
from reactor.journal.records import Row, lean, loss, row
from reactor.journal.refresh_log import Pair
from reactor.journal.undo_records import UndoRecord

EVENT_LIMIT = 10_000
"""Events that may wait for a disk. Beyond it the oldest are dropped, and counted."""


class Generation(NamedTuple):
    """One loaded version of the manifest."""

    id: int
    time: float
    manifest: str
    digest: str


@dataclass(slots=True, eq=False, repr=False)
class Batch:
    """One transaction.

    ``refreshes`` maps a pair to (owed since, last paid); ``resources`` a ref to (digest, time), and ``originals`` a ref
    to what was there before, either to None where that is to be forgotten. ``aliases`` maps each other name to its
    ref, all of them, and ``members`` holds the refs of the newest generation; None: they are as they were.
    """

    refreshes: dict[Pair, tuple[float | None, float | None]] = field(default_factory=dict)
    originals: dict[str, UndoRecord | None] = field(default_factory=dict)
    resources: dict[str, tuple[str, float] | None] = field(default_factory=dict)
    generations: list[Generation] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    aliases: dict[str, str] | None = None
    members: Collection[str] | None = None

    def __bool__(self) -> bool:
        said = self.refreshes or self.originals or self.resources or self.generations or self.rows
        return bool(said) or self.aliases is not None


class WriteBuffer:
    """Gathers the next batch. Touched by the event loop only; a batch that was taken belongs to who took it."""

    def __init__(self) -> None:
        self._events: deque[tuple[Event, int | None]] = deque()
        self._dropped = 0
        self._batch = Batch()
        self._diffs_waiting = 0
        self._diffs_in_rows = 0

    @property
    def events(self) -> int:
        """How many events wait to be made into rows."""
        return len(self._events)

    @property
    def rows(self) -> int:
        """How many rows wait to be written."""
        return len(self._batch.rows)

    def add_event(self, event: Event, generation: int | None) -> None:
        """Keep the event, if need be in place of the oldest."""
        if len(self._events) >= EVENT_LIMIT:
            dropped, _ = self._events.popleft()
            self._diffs_waiting -= size_of(dropped)
            self._dropped += 1
        event = with_short_diffs(event)
        size = size_of(event)
        if self._diffs_waiting + size > WAITING_LIMIT:
            event, size = lean(event), 0
        self._diffs_waiting += size
        self._events.append((event, generation))

    def make_rows(self, count: int) -> None:
        """Turn that many of the oldest events into rows."""
        for _ in range(min(count, len(self._events))):
            event, generation = self._events.popleft()
            self._diffs_in_rows += size_of(event)
            self._batch.rows.append(row(event, generation))

    def set_owed(self, pair: Pair, since: float | None, paid: float | None = None) -> None:
        """The pair owes a refresh since then, or (None) no more; ``paid``: it was paid just now."""
        _, paid_before = self._batch.refreshes.get(pair, (None, None))
        self._batch.refreshes[pair] = (since, paid or paid_before)

    def set_applied(self, ref: str, digest: str, now: float) -> None:
        """The resource is as the digest says."""
        self._batch.resources[ref] = (digest, now)

    def set_original(self, ref: str, original: UndoRecord | None, *, gone: bool = False) -> None:
        """How things were before the first change of the resource, or (None) that is to be forgotten.

        ``gone``: the resource itself is to be forgotten too.
        """
        self._batch.originals[ref] = original
        if gone:
            self._batch.resources[ref] = None

    def add_generation(self, generation: Generation, members: Collection[str]) -> None:
        """A manifest was loaded that holds ``members``."""
        self._batch.generations.append(generation)
        self._batch.members = members

    def set_aliases(self, aliases: dict[str, str]) -> None:
        """The resources that have another name, by that."""
        self._batch.aliases = aliases

    def restate(
        self,
        owed: Iterable[Pair],
        originals: Iterable[UndoRecord],
        digests: Mapping[str, str | None],
        aliases: dict[str, str],
    ) -> None:
        """Say all of this once more, to a file that knows nothing. A digest of None: it was never applied."""
        now = time.time()
        for pair in owed:
            self.set_owed(pair, now)
        for original in originals:
            self.set_original(original.ref, original)
        for ref, digest in digests.items():
            if digest is not None:
                self.set_applied(ref, digest, now)
        self.set_aliases(aliases)

    def take_urgent(self) -> Batch:
        """What must be on the disk before a change is made, in its newest state."""
        batch = Batch(refreshes=self._batch.refreshes, originals=self._batch.originals)
        self._batch.refreshes, self._batch.originals = {}, {}
        return batch

    def take(self) -> Batch:
        """All but the events that are not rows yet."""
        if self._dropped:
            self._batch.rows.append(loss(self._dropped, time.time()))
            self._dropped = 0
        batch, self._batch = self._batch, Batch()
        self._diffs_waiting -= self._diffs_in_rows
        self._diffs_in_rows = 0
        return batch

    def give_back(self, batch: Batch) -> None:
        """The batch could not be written. What was said since then replaces what it says."""
        late = self._batch
        for pair, (since, paid) in late.refreshes.items():
            _, paid_before = batch.refreshes.get(pair, (None, None))
            late.refreshes[pair] = (since, paid or paid_before)
        given_back = sum(len(each.diffs) for each in batch.rows if each.diffs)
        self._diffs_waiting += given_back
        self._diffs_in_rows += given_back
        self._batch = Batch(
            batch.refreshes | late.refreshes,
            batch.originals | late.originals,
            batch.resources | late.resources,
            batch.generations + late.generations,
            batch.rows + late.rows,
            batch.aliases if late.aliases is None else late.aliases,
            batch.members if late.members is None else late.members,
        )
