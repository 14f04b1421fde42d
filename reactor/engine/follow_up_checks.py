"""The checks that a run without watches repeats at its end: no event reports how its changes affected others.

A full check in a run with watches (`reactor.engine.full_check`) does the same, so that both have the same result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Hashable
from typing import Final

from reactor.engine.dispatcher import Dispatcher
from reactor.engine.event_recorder import Results
from reactor.engine.events import Cause, Result
from reactor.engine.final_check import FinalCheck
from reactor.engine.manifest_follower import ManifestFollower
from reactor.engine.noop import NoopJudge
from reactor.engine.vertex_table import VertexTable
from reactor.graph.topology import Topology
from reactor.resource.base import Resource

_Began = tuple[int, int, int, Hashable]
"""The state when the last check of a vertex began: all changes so far, those of its batch, the time, and the batch."""


class ChangeLog:
    """Counts the checks that changed something, including those that failed halfway, when they end.

    Most runs change nothing. So a check that began before the first change gets no record, unless it changes something
    itself: a vertex without a record began before the first change.
    """

    def __init__(self) -> None:
        self.changes = 0
        """How many checks that changed something have ended."""
        self._started_at = time.time_ns()
        self._began: dict[int, _Began] = {}
        self._own: dict[Hashable, int] = {}
        self._changing: set[int] = set()

    def begins(self, vertex: int, batch: Hashable = None) -> None:
        """A check of ``vertex`` begins. Vertices that are applied together have the same ``batch``.

        This need not be called before the first change.
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
        """Whether a change by another vertex has ended since the last check of ``vertex`` began.

        Its own batch does not count.
        """
        changes, own, _, batch = self._began.get(vertex, (0, 0, 0, vertex))
        return self.changes - changes > self._own.get(batch, 0) - own

    def began_at(self, vertex: int) -> int:
        """The earliest time at which the last check of ``vertex`` may have begun, in nanoseconds since 1970."""
        return self._began[vertex][2] if vertex in self._began else self._started_at


MOST_PASSES: Final = 10
"""How many times a run compares files: resources that change each other's inputs must not keep it from ending."""


_Stamp = tuple[int, ...] | None
"""The stat fields that change with a file; None if the file is missing or can't be read."""

_CLOCK_TICK_NS: Final = 20_000_000
"""How far the change time of a file may lag behind our clock: the kernel uses the time of its last tick."""


class StaleReads:
    """Compares the files that settled checks have read with their state when these checks began.

    A file's time alone is not enough: a file written just before a check began looks as new as one written just after
    it, and checking a command again may run it again.
    """

    def __init__(self, vertex_table: VertexTable, log: ChangeLog) -> None:
        self._vertex_table = vertex_table
        self._log = log
        self._stamps: dict[int, dict[str, _Stamp]] = {}
        self._seen = 0
        self._passes = 0

    def reads(self, vertex: int) -> None:
        """The check of ``vertex`` begins: record the stamps of the files that it is known to read."""
        if paths := _read_by(self._vertex_table.resources[vertex]):
            self._stamps[vertex] = {path: _stamp(path) for path in paths if not path.endswith("/")}

    @property
    def is_due(self) -> bool:
        """Whether anything was changed since the last comparison."""
        return self._log.changes > self._seen and self._passes < MOST_PASSES

    def take(self, settled: Collection[int]) -> list[int]:
        """The vertices of ``settled`` that must be checked again."""
        self._seen = self._log.changes
        self._passes += 1
        return [vertex for vertex in settled if self._log.others_since(vertex) and self._is_stale(vertex)]

    def _is_stale(self, vertex: int) -> bool:
        resource = self._vertex_table.resources[vertex]
        if resource.declared.is_covered:
            return True
        if not (paths := _read_by(resource)):
            return False
        stamps, since = self._stamps.get(vertex, {}), self._log.began_at(vertex)
        return any(
            _stamp(path) != stamps[path] if path in stamps else _changed_after(since, path) for path in paths
        )


def _read_by(resource: Resource) -> Collection[str]:
    deferred = resource.declared.deferred
    return resource.source_files() if deferred is None else (*resource.source_files(), *deferred.reads)


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _changed_after(moment: int, path: str) -> bool:
    """Whether the file may have changed.

    Always True for a directory, whose path ends with ``/``: only a check of its reader can tell.
    """
    if path.endswith("/"):
        return True
    try:
        return os.stat(path).st_ctime_ns > moment - _CLOCK_TICK_NS
    except OSError:
        return False


class Rechecks:
    """Chooses the failures to check again. Each pass needs fewer failures than any earlier pass, so the run ends."""

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
        """The vertices of ``failed`` to check again; ``blocked`` are the vertices that wait for them.

        A different ``topology`` means a new generation, with other failures: then the passes start again.
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
    """Chooses what to check again at the end: the manifest first, then vertices that read an old file, then failures.

    Last, it checks whether one change has undone another.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        results: Results,
        manifest_follower: ManifestFollower,
        noop_judge: NoopJudge,
        *,
        is_on: bool,
    ) -> None:
        self.is_on = is_on
        """Whether this is a run without watches, or a full check is under way. Otherwise nothing is recorded."""
        self._dispatcher = dispatcher
        self._scheduler = dispatcher.scheduler
        self._vertex_table = dispatcher.vertex_table
        self._results = results
        self._manifest_follower = manifest_follower
        self._noop_judge = noop_judge
        self._forget()

    def _forget(self) -> None:
        self.log = ChangeLog()
        self._stale_reads = StaleReads(self._vertex_table, self.log)
        self._rechecks = Rechecks(self.log)
        self.final_check = FinalCheck(self._vertex_table, self._results)

    def begin(self) -> None:
        """A full check begins in a run with watches."""
        self.is_on = True
        self._forget()
        self._manifest_follower.begin()

    def end(self) -> None:
        """The full check is over."""
        self.is_on = False
        self._forget()
        self._manifest_follower.end()

    def reads(self, vertex: int) -> None:
        """The check of ``vertex`` begins. The caller has made sure that the mounts it reads from answer."""
        self._stale_reads.reads(vertex)

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
        """Whether something was changed that other resources may depend on."""
        return (
            self._manifest_follower.is_due
            or self._stale_reads.is_due
            or self._rechecks_due
            or bool(self._noop_judge.missed)
            or self.final_check.is_due
        )

    @property
    def is_under_way(self) -> bool:
        """Whether `take` is busy now."""
        return self._manifest_follower.is_under_way or self.final_check.is_under_way

    async def take(self) -> None:
        """Do the first step that finds something, and mark what must be checked again.

        The remaining steps follow when these checks have ended.
        """
        if self._manifest_follower.is_due and await self._manifest_follower.take():
            return
        blocked = self._scheduler.blocking.blocked
        if self._marks(self._reads_old_files(blocked), Cause.INTENT):
            return
        if self._marks(self._failed_too_early(blocked), Cause.RETRY):
            return
        if self._marks(self._tried_at_last(), Cause.RETRY) or not self.final_check.is_due:
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
        """Whether failures may be checked again. Never with `fail_fast`: the first failure ends the run."""
        return self._rechecks.is_due and not self._scheduler.fail_fast

    def _tried_at_last(self) -> Collection[int]:
        """In a dry run, the failed vertices that a real run would retry after another has provided what they miss."""
        tried = self._noop_judge.take_provided_later() if self._noop_judge.missed else []
        if self._scheduler.fail_fast:
            return ()
        resources = self._vertex_table.resources
        return [vertex for vertex in tried if not resources[vertex].declared.form.is_ccm]

    def _failed_too_early(self, blocked: Collection[int]) -> Collection[int]:
        """The vertices that failed before another one changed something.

        Composites are left out, since they follow their members. Resources of the ``ccm:`` form are left out: like
        CCM, they are tried only once.
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
