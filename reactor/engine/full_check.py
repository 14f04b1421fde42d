"""A full check: in a continuous run, every resource is checked once more, as a one-shot run would check it.

Nothing is taken from earlier checks: each resource looks at the host anew, does again what it does once in a run, and
is tried at once if it has failed. Its events and its end are those of a run of its own. Repairs of drift go on meanwhile;
those of resources that the full check has finished with are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import trio

from reactor.engine.engine import Engine
from reactor.engine.event_recorder import EventRecorder, Results
from reactor.engine.events import (
    Blocked,
    Cause,
    Checked,
    Ended,
    Event,
    Noted,
    Output,
    Paused,
    Reloaded,
    ReloadRejected,
    Result,
    Resumed,
    Reversed,
    Reversing,
    Skipped,
    SlotWaited,
    Unblocked,
)
from reactor.engine.limits import DEFAULT_LIMITS
from reactor.engine.worker_pool import SLICE

_DRIFT: Final = int(Cause.DRIFT | Cause.AUDIT)
_REFRESH: Final = int(Cause.REFRESH)
_PASSED_ON = (
    Blocked, Noted, Output, Paused, Reloaded, ReloadRejected, Resumed, Reversed, Reversing, SlotWaited, Unblocked,
)  # fmt: skip
"""The further events of a run of its own. Others are about watches, or about the continuous run."""


class RunEndedError(Exception):
    """The run has ended before the full check."""


class FullCheck:
    """One full check in the run of ``engine``: `renew`, `begin`, and pass all events of the run to it until `ended` returns.

    Only one may be under way. ``emit`` gets the events of the full check.
    """

    def __init__(self, engine: Engine, emit: Callable[[Event], None]) -> None:
        self._engine = engine
        self._emit = emit
        self._scheduler = engine.scheduler
        self._vertex_table = engine.vertex_table
        self._follow_up_checks = engine.follow_up_checks
        self._results = Results()
        self._recorder = EventRecorder(self._vertex_table, self._results, emit)
        self._ran_at_first: set[int] = set()
        """The vertices that were being checked when the resources were renewed."""
        self._began_before: set[int] = set()
        """The vertices whose check began before the full check: its result is not of now."""
        self._done: set[int] = set()
        """The vertices that have been checked, and need not be again."""

    # ---- begin ----

    async def renew(self) -> None:
        """Let every resource look anew, and its next check report everything. Yields to the event loop in between."""
        slice_end = trio.current_time() + SLICE
        self._ran_at_first = {*self._scheduler.running}
        for vertex in sorted(self._vertex_table.present):
            if trio.current_time() > slice_end:
                await trio.lowlevel.checkpoint()
                slice_end = trio.current_time() + SLICE
            if vertex in self._vertex_table.present:
                self._renew(vertex)

    def begin(self) -> None:
        """Schedule a check of every vertex. Nothing may be awaited between a reload for this full check and this call."""
        self._started = trio.current_time()
        self._began_before = {*self._scheduler.running}
        for vertex in self._ran_at_first & self._vertex_table.present:
            self._renew(vertex)
        self._retry_at_once()
        self._engine.results.waits.clear()
        self._follow_up_checks.begin()
        self._recorder.reversing(self._engine.reversals.pending)
        self._engine.dispatcher.mark_each(sorted(self._vertex_table.present), Cause.INITIAL)

    def _renew(self, vertex: int) -> None:
        resource = self._vertex_table.resources[vertex]
        resource.run_again()
        if (deferred := resource.declared.deferred) is not None:
            deferred.advance_clock()
        if self._engine.results.result(vertex, ()) is Result.SKIPPED:
            self._engine.results.forget([vertex])

    def _retry_at_once(self) -> None:
        """Forget failures, with the waits for their retries, and the waits of vertices that flap."""
        scheduler, limits = self._scheduler, self._vertex_table.limits
        if (
            delayed := {*scheduler.blocking.failed, *scheduler.delay_queue.slowed}
            & self._vertex_table.present
        ):
            scheduler.reshape(scheduler.topology, limits, delayed, ())
            self._engine.dispatcher.report_transitions()

    # ---- events ----

    def take(self, event: Event) -> None:
        """Take one event of the run."""
        if type(event) is Checked:
            self._checked(event)
        elif type(event) is Skipped:
            self._skipped(event)
        elif isinstance(event, _PASSED_ON) and not _is_empty(event):
            if type(event) is Blocked and (vertex := self._vertex_table.find(event.ref)) is not None:
                self._note_wait(vertex)
            elif type(event) is Reloaded:
                self._forget_former(event)
            self._emit(event)

    def _checked(self, event: Checked) -> None:
        vertex = self._vertex_table.find(event.ref)
        if vertex is None or self._end_earlier_check(vertex):
            return
        if vertex in self._done and self._is_repetition(event, vertex):
            return
        self._done.add(vertex)
        self._results.record(vertex, event.result)
        if event.retry_in is not None and not self._retries_itself(vertex):
            event = replace(event, retry_in=None)
        self._emit(event)

    def _skipped(self, event: Skipped) -> None:
        vertex = self._vertex_table.find(event.ref)
        if vertex is None or self._end_earlier_check(vertex):
            return
        self._done.add(vertex)
        self._results.record(vertex, Result.SKIPPED)
        self._emit(event)

    def _end_earlier_check(self, vertex: int) -> bool:
        """Let a check of ``vertex`` begin again if it began before the full check. Return whether it did."""
        if vertex not in self._began_before:
            return False
        self._began_before.discard(vertex)
        self._renew(vertex)  # what that check has noted, as that a command has run, is not of now
        return True

    def _is_repetition(self, event: Checked, vertex: int) -> bool:
        """Whether only a continuous run has this event: our own repair was heard, or a failure is tried again."""
        if self._results.result(vertex, ()) is Result.FAILED:
            return event.result is Result.FAILED and not self._retries_itself(vertex)
        return event.result is Result.OK and not int(event.causes) & ~_DRIFT

    def _forget_former(self, event: Reloaded) -> None:
        """Another version came into force meanwhile: what differs is checked again, and vertices may have other numbers."""
        found = map(self._vertex_table.find, (*event.changed, *event.added))
        fresh = [vertex for vertex in found if vertex is not None]
        self._results.forget(fresh)
        self._done.difference_update(fresh)
        self._began_before.difference_update(fresh)

    def _note_wait(self, vertex: int) -> None:
        """``vertex`` is blocked; if it waits for something that is no resource, that is the result of its check."""
        if vertex in self._engine.results.waits:
            self._done.add(vertex)
            self._results.record(vertex, Result.BLOCKED)

    # ---- end ----

    async def ended(self) -> Ended:
        """Wait until the full check is over, and return its last event. Raises RunEndedError."""
        try:
            while not self._is_settled() or self._follow_up_checks.is_due:
                self._require_run()
                if self._is_settled():
                    await self._follow_up_checks.take()
                    self._done.difference_update(self._scheduler.order.active_vertices())
                else:
                    await self._engine.idle.park()
            self._require_run()
            return self._end()
        finally:
            self._follow_up_checks.end()

    def _require_run(self) -> None:
        if self._engine.is_over or self._engine.dispatcher.is_stopping:
            raise RunEndedError

    def _end(self) -> Ended:
        blocking, present = self._scheduler.blocking, self._vertex_table.present
        duration = trio.current_time() - self._started
        if self._done >= present and not (blocking.failed or blocking.blocked):
            self._recorder.converged(duration)
        return self._recorder.ended(
            self._scheduler, duration, self._engine.why_ended(), self._engine.manifest_follower.left_behind
        )

    def _is_settled(self) -> bool:
        """Whether nothing is in motion that a run of its own would wait for."""
        scheduler = self._scheduler
        if scheduler.has_ready or scheduler.order.is_held or self._follow_up_checks.is_under_way:
            return False
        if any(map(self._retries_itself, scheduler.retry_times)):
            return False
        moves = waits = False
        for vertex in scheduler.order.active_vertices():
            if vertex in scheduler.running or vertex in scheduler.delay_queue.start_at:
                if not self._is_drift_of_later(vertex):
                    return False
                moves = True
            else:  # it waits for another vertex, or until its pause is over
                waits = waits or vertex not in self._done
        return not (moves and waits)

    def _is_drift_of_later(self, vertex: int) -> bool:
        """Whether ``vertex``, which is in motion, was checked already, and only a continuous run checks it again."""
        if vertex not in self._done:
            return False
        causes = int(self._scheduler.causes(vertex))
        return not causes & (_REFRESH if vertex in self._scheduler.blocking.failed else ~_DRIFT)

    def _retries_itself(self, vertex: int) -> bool:
        """Whether a one-shot run also retries the vertex, as the manifest says."""
        return self._vertex_table.limits.get(vertex, DEFAULT_LIMITS).retry is not None


def _is_empty(event: Event) -> bool:
    """Whether it is a reload without a difference."""
    return type(event) is Reloaded and not (event.changed or event.added or event.gone)
