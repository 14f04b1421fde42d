"""Turns the results of checks into events, and keeps the last result of each vertex."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING

from reactor.engine.admission import Members
from reactor.engine.blocking import Blocking, Known
from reactor.engine.check import CheckResult
from reactor.engine.events import (
    AuditFound,
    Blocked,
    Cause,
    Checked,
    Converged,
    Ended,
    Event,
    Flapping,
    Noted,
    Output,
    Reloaded,
    Result,
    Reversed,
    Reversing,
    Skipped,
    SlotWaited,
    Unblocked,
)
from reactor.engine.outcome import Outcome
from reactor.engine.vertex_table import GraphDiff, VertexTable

if TYPE_CHECKING:
    from reactor.engine.scheduler import Scheduler

# Looking up a member in its class costs more, see `reactor.engine.outcome.Outcome`.
_OK, _CHANGED, _WOULD_CHANGE, _FAILED = Result.OK, Result.CHANGED, Result.WOULD_CHANGE, Result.FAILED


class Results:
    """The last result of every vertex, by vertex number.

    Also records whether a vertex was changed earlier in the run.
    """

    def __init__(self) -> None:
        self._results: list[Result | None] = []
        self._changed = bytearray()
        self.would_change: set[int] = set()
        """The vertices whose last check only reported what it would change."""
        self.waits: dict[int, str] = {}
        """What blocks a vertex and is no resource, such as a value of the network, by vertex."""
        self.changes = 0
        """How many checks changed something."""

    def record(self, vertex: int, result: Result) -> None:
        """Record how a check of ``vertex`` ended."""
        if vertex >= len(self._results):
            self._grow(vertex + 1)
        self._results[vertex] = result
        if result is _CHANGED:
            self.changes += 1
            self._changed[vertex] = 1
        if result is _WOULD_CHANGE:
            self.would_change.add(vertex)
        elif self.would_change:
            self.would_change.discard(vertex)

    def record_as_desired(self, members: Members) -> None:
        """Record that the checks of ``members`` found them as desired."""
        results = self._results
        if len(results) <= (last := max(members)):
            self._grow(last + 1)
        for vertex in members:
            results[vertex] = _OK
        if self.would_change:
            self.would_change.difference_update(members)

    def forget(self, vertices: Iterable[int]) -> None:
        """Forget the results of ``vertices``, which have left the graph."""
        for vertex in vertices:
            if vertex < len(self._results):
                self._results[vertex] = None
                self._changed[vertex] = 0
            self.would_change.discard(vertex)
            self.waits.pop(vertex, None)

    def result(self, vertex: int, blocked: Collection[int]) -> Result | None:
        """The current result of ``vertex``; None if it was never checked."""
        if vertex in blocked:
            return Result.BLOCKED
        if vertex >= len(self._results):
            return None
        result = self._results[vertex]
        return _CHANGED if result is _OK and self._changed[vertex] else result

    def skip_unchecked(self, vertices: Collection[int], blocked: Collection[int]) -> list[int]:
        """At the end of the run, record that those of ``vertices`` that were neither checked nor blocked are skipped.

        Returns these vertices.
        """
        self._grow(max(vertices, default=-1) + 1)
        left = [v for v in vertices if self._results[v] is None and v not in blocked]
        for vertex in left:
            self._results[vertex] = Result.SKIPPED
        return left

    def counts(self, vertices: Collection[int], blocked: Collection[int]) -> dict[str, int]:
        """How many of ``vertices`` have each result; every `Result` is a key."""
        self._grow(max(vertices, default=-1) + 1)
        found = Counter(map(self._results.__getitem__, vertices))
        changed = compress(range(len(self._changed)), self._changed)
        for vertex in {*changed, *blocked}.intersection(vertices):
            found[self._results[vertex]] -= 1
            found[self.result(vertex, blocked)] += 1
        return {str(result): found[result] for result in Result}

    def _grow(self, size: int) -> None:
        """Have a place for each vertex below ``size``, and for some more: vertices mostly come one by one."""
        if (missing := size - len(self._results)) > 0:
            missing += size // 8
            self._results.extend([None] * missing)
            self._changed.extend(bytes(missing))


_RESULTS = {
    Outcome.OK: Result.OK,
    Outcome.CHANGED: Result.CHANGED,
    Outcome.WOULD_CHANGE: Result.WOULD_CHANGE,
    Outcome.FAILED: Result.FAILED,
    Outcome.UNHEALTHY: Result.FAILED,
    Outcome.CRITICAL: Result.FAILED,
}


class EventRecorder:
    """Emits events that name vertices by their refs. Emits none for the checks of vertices that left the graph."""

    def __init__(self, vertex_table: VertexTable, results: Results, emit: Callable[[Event], None]) -> None:
        self._vertex_table = vertex_table
        self._results = results
        self._emit = emit

    def checked(
        self, vertex: int, causes: Cause, check_result: CheckResult, duration: float, retry_in: float | None
    ) -> None:
        """Emit the result of a check, and record it."""
        if vertex not in self._vertex_table.present:
            return
        if check_result.waits_for is not None:
            self._waits(vertex, check_result.waits_for, check_result.error)
            return
        if self._results.waits.pop(vertex, None) is not None:
            self._emit(Unblocked(time.time(), self._vertex_table.refs[vertex]))
        if check_result.declined is not None:
            self._declined(vertex, check_result.declined)
            return
        result = _RESULTS[check_result.outcome]
        self._results.record(vertex, result)
        if result is _FAILED and check_result.actions:
            self._results.changes += 1
        now, ref = time.time(), self._vertex_table.refs[vertex]
        self._emit(
            Checked(
                now, ref, result, causes, duration,
                check_result.actions, check_result.diffs, check_result.error, check_result.hint, retry_in, check_result.health, check_result.code,
            )
        )  # fmt: skip
        if result is _CHANGED and causes is Cause.AUDIT:
            self._emit(AuditFound(now, ref))

    def _waits(self, vertex: int, cause: str, reason: str | None) -> None:
        """The vertex is blocked by ``cause``, which is no resource. Its attempts emit one event."""
        if self._results.waits.get(vertex) != cause:
            self._results.waits[vertex] = cause
            self._results.record(vertex, Result.BLOCKED)
            self._emit(Blocked(time.time(), self._vertex_table.refs[vertex], (cause,), reason))

    def checked_as_desired(self, members: Members, causes: Sequence[Cause], duration: float) -> None:
        """Emit and record that the checks of ``members`` found them as desired; each took ``duration`` seconds."""
        emit, now = self._emit, time.time()
        self._results.record_as_desired(members)
        for ref, cause in zip(members.of(self._vertex_table.refs), causes, strict=True):
            emit(Checked(now, ref, _OK, cause, duration))

    def _declined(self, vertex: int, reason: str) -> None:
        if self._results.result(vertex, ()) is not Result.SKIPPED:
            self._results.record(vertex, Result.SKIPPED)
            self._emit(Skipped(time.time(), self._vertex_table.refs[vertex], reason))

    def transitions(self, blocking: Blocking) -> list[int]:
        """Emit which vertices became blocked, with the root failures, and which became unblocked.

        Return all of these vertices.
        """
        refs = self._vertex_table.refs
        taken = blocking.take_transitions()
        known: Known = {}
        for vertex, blocked in taken:
            if not blocked:
                self._emit(Unblocked(time.time(), refs[vertex]))
            elif culprits := blocking.culprits(vertex, known):
                self._emit(Blocked(time.time(), refs[vertex], tuple(refs[culprit] for culprit in culprits)))
        return [vertex for vertex, _ in taken]

    def output(self, vertex: int, line: str) -> None:
        """The running check wrote a line of output."""
        self._emit(Output(time.time(), self._vertex_table.refs[vertex], line))

    def slot_waited(self, vertex: int, slot: str, reason: str) -> None:
        """The vertex waits for a slot of the fleet."""
        self._emit(SlotWaited(time.time(), self._vertex_table.refs[vertex], slot, reason))

    def noted(self, vertex: int, line: str) -> None:
        """The running check reported a lasting fact about the vertex."""
        self._emit(Noted(time.time(), self._vertex_table.refs[vertex], line))

    def flapping(self, vertex: int, actions: dict[str, int]) -> None:
        """Something else keeps undoing the repairs of the vertex, or the values of its expressions keep changing."""
        deferred = self._vertex_table.resources[vertex].declared.deferred
        expressions = () if deferred is None else deferred.moving
        self._emit(Flapping(time.time(), self._vertex_table.refs[vertex], actions, expressions))

    def converged(self, duration: float) -> None:
        """Everything is as desired."""
        self._emit(Converged(time.time(), len(self._vertex_table.present), duration))

    def reloaded(self, difference: GraphDiff, undoing: Container[str]) -> Reloaded:
        """Emit that another generation is in force, and return that event.

        Reversals (the refs in ``undoing``) are reported as resources that are gone.
        """
        changed, added, gone = (
            [self._vertex_table.refs[vertex] for vertex in vertices]
            for vertices in (difference.changed, difference.added, difference.gone)
        )
        gone += [ref for ref in changed if ref in undoing]
        changed = [ref for ref in changed if ref not in undoing]
        added = [ref for ref in added if ref not in undoing]
        event = Reloaded(time.time(), len(difference.kept), tuple(changed), tuple(added), tuple(gone))
        self._emit(event)
        return event

    def reversing(self, refs: Iterable[str]) -> None:
        """The resources ``refs`` have left the manifest and are now being undone."""
        for ref in refs:
            self._emit(Reversing(time.time(), ref))

    def reversed(self, vertex: int) -> None:
        """The resource of the vertex has been undone."""
        self._emit(Reversed(time.time(), self._vertex_table.refs[vertex]))

    def ended(
        self, scheduler: Scheduler, duration: float, reason: str, outdated: tuple[str, ...] = ()
    ) -> Ended:
        """The run is over: report every vertex that was never attempted as skipped. Return the last event.

        ``outdated`` is the same as in `Ended`.
        """
        present = sorted(self._vertex_table.present)
        blocked = scheduler.blocking.blocked
        left = self._results.skip_unchecked(present, blocked)
        for vertex in left:
            why = "it is paused" if scheduler.is_paused(vertex) else reason
            self._emit(Skipped(time.time(), self._vertex_table.refs[vertex], why))
        counts = self._results.counts(present, blocked)
        event = Ended(time.time(), counts, self._results.changes, duration, reason, len(left), outdated)
        self._emit(event)
        return event
