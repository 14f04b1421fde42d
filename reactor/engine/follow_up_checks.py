"""The checks that a run without watches repeats at its end: no event told it what its own changes did to other resources."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Hashable
from typing import Final

from reactor.engine.dispatcher import Dispatcher
from reactor.engine.event_recorder import Results
from reactor.engine.events import Cause, Result
from reactor.engine.final_check import FinalCheck
from reactor.engine.manifest_follower import ManifestFollower
from reactor.engine.vertex_table import VertexTable
from reactor.graph.topology import Topology
from reactor.resource.base import Resource

_Began = tuple[int, int, int, Hashable]
"""When the last check of a vertex began: after how many changes of all, and of its batch; the time; and the batch."""


class ChangeLog:
    """Counts the checks that changed something, also those that failed halfway, when they end.

    Most runs change nothing, so a check that began before the first change is kept only if it changes something itself: of
    the others it is known that they began then.
    """

    def __init__(self) -> None:
        self.changes = 0
        """How many have ended."""
        self._started_at = time.time_ns()
        self._began: dict[int, _Began] = {}
        self._own: dict[Hashable, int] = {}
        self._changing: set[int] = set()

    def begins(self, vertex: int, batch: Hashable = None) -> None:
        """A check of ``vertex`` begins. All that are applied together are of one ``batch``.

        While nothing has changed, this need not be called.
        """
        key = vertex if batch is None else batch
        self._began[vertex] = (self.changes, self._own.get(key, 0), time.time_ns(), key)

    def changing(self, vertex: int, batch: Hashable = None) -> None:
        """The check of ``vertex`` is about to change something."""
        if vertex not in self._began:
            self._began[vertex] = (0, 0, self._started_at, vertex if batch is None else batch)
        self._changing.add(vertex)

    def ends(self, vertex: int) -> None:
        """The check of ``vertex`` ended."""
        if vertex in self._changing:
            self._changing.discard(vertex)
            self.changes += 1
            batch = self._began[vertex][3]
            self._own[batch] = self._own.get(batch, 0) + 1

    def others_since(self, vertex: int) -> bool:
        """Whether another change has ended since the last check of ``vertex`` began; one of its batch is none."""
        changes, own, _, batch = self._began.get(vertex, (0, 0, 0, vertex))
        return self.changes - changes > self._own.get(batch, 0) - own

    def began_at(self, vertex: int) -> int:
        """When the last check of ``vertex`` began, at the earliest, in nanoseconds since 1970."""
        return self._began[vertex][2] if vertex in self._began else self._started_at


MOST_PASSES: Final = 10
"""How often a run looks: resources that change what each other reads must not keep it from ending."""


def _kernel_version() -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


_CLOCK_TICK_NS: Final = 5_000_000 if _kernel_version() >= (6, 13) else 20_000_000
"""By so much the time of a change may be behind the clock that we read: newer kernels have finer times."""


class StaleReads:
    """Compares the files that settled checks have read with the time of these checks."""

    def __init__(self, vertex_table: VertexTable, log: ChangeLog) -> None:
        self._vertex_table = vertex_table
        self._log = log
        self._seen = 0
        self._passes = 0

    @property
    def is_due(self) -> bool:
        """Whether anything was changed since the last look."""
        return self._log.changes > self._seen and self._passes < MOST_PASSES

    def take(self, settled: Collection[int]) -> list[int]:
        """Which of ``settled`` are to be checked again."""
        self._seen = self._log.changes
        self._passes += 1
        return [vertex for vertex in settled if self._log.others_since(vertex) and self._is_stale(vertex)]

    def _is_stale(self, vertex: int) -> bool:
        if self._vertex_table.resources[vertex].declared.is_covered:
            return True
        since = self._log.began_at(vertex) - _CLOCK_TICK_NS
        return any(_changed_after(since, path) for path in _read_by(self._vertex_table.resources[vertex]))


def _read_by(resource: Resource) -> Collection[str]:
    deferred = resource.declared.deferred
    return (*resource.source_files(), *(deferred.reads if deferred is not None else ()))


def _changed_after(moment: int, path: str) -> bool:
    """Whether the file may have changed. Whether a whole directory has changed, only a check of its reader can find out."""
    if path.endswith("/"):
        return True
    try:
        return os.stat(path).st_ctime_ns > moment
    except OSError:
        return False


class Rechecks:
    """Chooses them. Each pass after the first needs fewer failures than any before it, so the run ends."""

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self._seen = 0
        self._fewest = float("inf")
        self._topology: Topology | None = None

    @property
    def is_due(self) -> bool:
        """Whether anything was changed since the last pass."""
        return self._log.changes > self._seen

    def take(self, failed: Collection[int], blocked: Collection[int], topology: Topology) -> list[int]:
        """The vertices of ``failed`` to check again; ``blocked`` are those that wait for them.

        ``topology`` tells generations apart: in another one, other things may fail.
        """
        if topology is not self._topology:
            self._topology, self._fewest = topology, float("inf")
        self._seen = self._log.changes
        left = len({*failed, *blocked})
        found = [vertex for vertex in sorted(failed) if self._log.others_since(vertex)]
        if not found or left >= self._fewest:
            return []
        self._fewest = left
        return found


_SETTLED = (Result.OK, Result.CHANGED)


class FollowUpChecks:
    """Decides what is checked again, in this order: what the manifest says now, what read an old file, what failed.

    Last it sees whether one change has undone another.
    """

    def __init__(self, dispatcher: Dispatcher, results: Results, manifest_follower: ManifestFollower) -> None:
        self._dispatcher = dispatcher
        self._scheduler = dispatcher.scheduler
        self._vertex_table = dispatcher.vertex_table
        self._results = results
        self._manifest_follower = manifest_follower
        self.log = ChangeLog()
        self._stale_reads = StaleReads(dispatcher.vertex_table, self.log)
        self._rechecks = Rechecks(self.log)
        self.final_check = FinalCheck(dispatcher.vertex_table, results)

    def changing(self, vertex: int) -> None:
        """The check of ``vertex`` is about to change something."""
        self.final_check.changes(vertex)
        self._manifest_follower.touched()
        self.log.changing(vertex, self._scheduler.batches.batch.get(vertex))

    def ends(self, vertex: int) -> None:
        """The check of ``vertex`` ended."""
        self.log.ends(vertex)

    @property
    def is_due(self) -> bool:
        """Whether something was changed that others may depend on."""
        return (
            self._manifest_follower.is_due
            or self._stale_reads.is_due
            or self._rechecks_due
            or self.final_check.is_due
        )

    @property
    def is_under_way(self) -> bool:
        """Whether a look takes place now."""
        return self._manifest_follower.is_under_way or self.final_check.is_under_way

    async def take(self) -> None:
        """Look, and mark what is to be checked again; the rest has its turn when that has come to rest."""
        if self._manifest_follower.is_due and await self._manifest_follower.take():
            return
        blocked = self._scheduler.blocking.blocked
        if self._marks(self._reads_old_files(blocked), Cause.INTENT):
            return
        if self._marks(self._failed_too_early(blocked), Cause.RETRY) or not self.final_check.is_due:
            return
        self._marks(await self.final_check.take(blocked), Cause.DRIFT)

    def _marks(self, vertices: Collection[int], cause: Cause) -> bool:
        for vertex in vertices:
            self._dispatcher.mark(vertex, cause)
        return bool(vertices)

    def _reads_old_files(self, blocked: Collection[int]) -> Collection[int]:
        if not self._stale_reads.is_due:
            return ()
        results, present = self._results, sorted(self._vertex_table.present)
        return self._stale_reads.take([each for each in present if results.result(each, blocked) in _SETTLED])

    @property
    def _rechecks_due(self) -> bool:
        """With `fail_fast`, the first failure is the end."""
        return self._rechecks.is_due and not self._scheduler.fail_fast

    def _failed_too_early(self, blocked: Collection[int]) -> Collection[int]:
        """The vertices that failed before another one changed something. Composites follow their members.

        The ``ccm:`` form tries everything once, as CCM does.
        """
        if not self._rechecks_due:
            return ()
        resources, scheduler = self._vertex_table.resources, self._scheduler
        failed = [
            vertex
            for vertex in scheduler.blocking.failed
            if not ((declared := resources[vertex].declared).members or declared.form.is_ccm)
        ]
        return self._rechecks.take(failed, blocked, scheduler.topology)
