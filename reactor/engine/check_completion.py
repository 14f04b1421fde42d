"""What happens when a check has ended: repairs after bad health, scheduling, flap detection, journal and events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import trio

from reactor.engine.admission import Members
from reactor.engine.batch_apply import BatchApplier
from reactor.engine.check import CheckResult
from reactor.engine.dispatcher import Dispatcher
from reactor.engine.event_recorder import Results
from reactor.engine.events import CAUSE_SETS, Cause
from reactor.engine.flapping import FlapDetector
from reactor.engine.follow_up_checks import FollowUpChecks
from reactor.engine.outcome import Outcome
from reactor.engine.reversals import Reversals
from reactor.engine.run_store import RunStore
from reactor.resource.base import Resource
from reactor.resource.health import HealthStatus

MOST_REPAIRS: Final = 5
"""How many repairs in a row may fail to help. After that, only the health checks run, until they are ok."""

_GAVE_UP: Final = f"{MOST_REPAIRS} repairs in a row have not helped: from now on only its health is checked"


class Repairs:
    """Counts the repairs of each vertex since it was last healthy."""

    def __init__(self) -> None:
        self._made: Counter[int] = Counter()

    def begins(self, vertex: int) -> None:
        """A repair of ``vertex`` begins: count it."""
        self._made[vertex] += 1

    def is_first(self, vertex: int) -> bool:
        """Whether ``vertex`` has not been repaired since it was last healthy."""
        return not self._made[vertex]

    def judged(self, vertex: int, resource: Resource, result: CheckResult) -> CheckResult:
        """``result`` after the health checks; CRITICAL if the next check should be a repair."""
        if result.outcome is Outcome.UNHEALTHY and wanted_repairs(resource, result):
            if self._made[vertex] < MOST_REPAIRS:
                return result._replace(outcome=Outcome.CRITICAL)
            return result._replace(hint=_GAVE_UP)
        if result.outcome in (Outcome.OK, Outcome.CHANGED):
            self.forget([vertex])
        return result

    def forget(self, vertices: Iterable[int]) -> None:
        """Reset the counts: ``vertices`` are healthy, or have left the graph."""
        for vertex in vertices:
            self._made.pop(vertex, None)


def wanted_repairs(resource: Resource, result: CheckResult) -> set[str]:
    """What the critical health checks ask for: ``check`` the resource, ``refresh`` it, or nothing."""
    both = zip(resource.health_checks, result.health, strict=True)
    asked: set[str] = {check.on_critical for check, found in both if found.status is HealthStatus.CRITICAL}
    return asked - {"none"}


_INITIAL = Cause.INITIAL.value
_DRIFT = Cause.DRIFT.value
_REFRESH = Cause.REFRESH.value
# Looking up a member in its class costs more, see `Outcome`.
_OK, _CHANGED, _FAILED = Outcome.OK, Outcome.CHANGED, Outcome.FAILED
_APPLIED = (_OK, _CHANGED, Outcome.UNHEALTHY, Outcome.CRITICAL)
_MOST_ROUNDS: Final = 10
"""How often in a row a one-shot run repairs one resource: undone repairs must not keep the run from ending."""
_CUT_SHORT: Final = "its check was cancelled after a change had begun"
_CUT_SHORT_HINT: Final = "the change may be incomplete: the next check continues from the state it finds"
_FLAPPING_HINT: Final = "find what changes it at the same time, and stop that, or remove it from the manifest"


class CheckCompletion:
    """Completes the checks of a run, one after the other. Nothing here waits."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        results: Results,
        reversals: Reversals,
        *,
        follow_up_checks: FollowUpChecks,
        batch_applier: BatchApplier,
        repairs: Repairs,
        run_store: RunStore | None,
    ) -> None:
        self._dispatcher = dispatcher
        self._vertex_table = dispatcher.vertex_table
        self._scheduler = dispatcher.scheduler
        self._recorder = dispatcher.recorder
        self._results = results
        self._reversals = reversals
        self._follow_up_checks = follow_up_checks
        self._batch_applier = batch_applier
        self._repairs = repairs
        self._run_store = run_store
        self._flap_detector = FlapDetector()
        self.begun: dict[int, list[str]] = {}
        """What has been done so far by the running checks that have begun to change something."""
        self.last_change = 0.0
        """The time of the last change, by the run's clock."""

    @property
    def _is_one_shot(self) -> bool:
        """Whether the run has no watches, or a full check is under way: no event starts what must follow a check."""
        return self._follow_up_checks.is_on

    def complete(
        self,
        vertex: int,
        resource: Resource,
        result: CheckResult,
        *,
        causes: Cause,
        reported: Cause,
        started: float,
        run_store: RunStore | None,
    ) -> float:
        """Record that the check of ``vertex`` ended with ``result``. Return the time at which it ended.

        The check ran for ``causes``; events name ``reported``. ``run_store`` is None when nothing is stored.
        """
        if self.begun:
            self.begun.pop(vertex, None)
        if result.drifted_again is not None or self._flap_detector.again:
            result = self._limited(vertex, result)
        now = self._dispatcher.clock.current_time()
        retry_in = self._schedule(vertex, result, causes, started, now)
        if run_store is not None and result.outcome in _APPLIED:
            run_store.applied(resource)
            if int(causes) & _REFRESH:
                run_store.refreshed(resource.ref)
        self._recorder.checked(vertex, reported, result, now - started, retry_in)
        if self._reversals.pending and result.outcome in (_OK, _CHANGED):
            self._retire_undone(vertex, resource)
        self._dispatcher.report_transitions(vertex)
        return now

    @property
    def is_plain(self) -> bool:
        """Whether nothing special follows a check that found its resource as desired: no flapping, nothing to undo."""
        return not (self._flap_detector.again or self._reversals.pending)

    def end_as_desired(self, members: Members, started: float, run_store: RunStore | None) -> float:
        """Record that one look, which began at ``started``, found the ``members`` as desired. Return the time.

        They are as `Scheduler.next_group` returned them. Each gets an equal share of the time. Call this only if `is_plain`.
        """
        now = self._dispatcher.clock.current_time()
        causes = self._scheduler.ended_as_desired(members)
        if run_store is not None:
            for resource in members.of(self._vertex_table.resources):
                run_store.applied(resource)
        self._recorder.checked_as_desired(members, causes, (now - started) / len(members))
        self._dispatcher.report_transitions(*members)
        return now

    def cancelled(self, vertex: int, started: float) -> None:
        """The check of ``vertex`` was cancelled: it has no result, and is scheduled again.

        If it had begun to change something, that is reported as a failure: the history must not be silent about it.
        """
        if (done := self.begun.pop(vertex, None)) is not None:
            result = CheckResult(_FAILED, tuple(done), error=_CUT_SHORT, hint=_CUT_SHORT_HINT, code="R0511")
            causes, resource = self._scheduler.causes(vertex), self._vertex_table.resources[vertex]
            causes = self.reported(causes, resource, result)
            self._recorder.checked(vertex, causes, result, trio.current_time() - started, None)
        self._follow_up_checks.ends(vertex)
        self._scheduler.finished(vertex, Outcome.CANCELLED, trio.current_time())
        self._batch_applier.on_member_change()

    def reported(self, causes: Cause, resource: Resource, result: CheckResult) -> Cause:
        """The causes that an event of a check for ``causes`` names."""
        store = self._run_store
        return causes if store is None else reported_causes(causes, resource, result, store.cause_of)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph; other resources may get their numbers."""
        self._flap_detector.forget(vertices)

    def _limited(self, vertex: int, result: CheckResult) -> CheckResult:
        """``result``, or a failure if a one-shot run would otherwise repair the same drift for ever."""
        if result.drifted_again is None:
            self._flap_detector.stayed_ok(vertex)
            return result
        times = self._flap_detector.drifted_again(vertex)
        if not self._is_one_shot or times < _MOST_ROUNDS:
            return result
        error = (
            f"repaired {times} times, and each time something else changed it back: {result.drifted_again}"
        )
        return result._replace(
            outcome=_FAILED, error=error, hint=_FLAPPING_HINT, code="R0504", missing=None, drifted_again=None
        )

    def _schedule(
        self, vertex: int, result: CheckResult, causes: Cause, started: float, now: float
    ) -> float | None:
        """Report to the scheduler how the check ended. Return the seconds until the retry, or None if there is none."""
        if result.outcome is _CHANGED:
            self.last_change = now
            if int(causes) & _DRIFT or result.drifted_again is not None:
                self._notice_flapping(vertex, result, started, now)
        if self._is_one_shot and result.outcome is not _OK:
            self._follow_up_checks.ends(vertex)
        retry_in = self._scheduler.finished(vertex, result.outcome, now)
        if result.drifted_again is not None:
            self._dispatcher.mark(vertex, Cause.DRIFT)
        if self._batch_applier.open:
            self._batch_applier.on_member_change()
        if self._is_one_shot and result.outcome is Outcome.CRITICAL:
            self._repair_once(vertex, result)
        return retry_in

    def _repair_once(self, vertex: int, result: CheckResult) -> None:
        """In a one-shot run, refresh a critical vertex once, unless this run has just changed it."""
        resource = self._vertex_table.resources[vertex]
        if (
            "refresh" in wanted_repairs(resource, result)
            and not result.actions
            and self._repairs.is_first(vertex)
        ):
            self._dispatcher.mark(vertex, Cause.HEALTH)

    def _notice_flapping(self, vertex: int, result: CheckResult, started: float, now: float) -> None:
        took = now - started
        if self._vertex_table.resources[vertex].meta.poll is not None:
            took = 0.0  # a polled resource may regularly need long repairs: that is not flapping
        if (flap := self._flap_detector.repaired(vertex, result.actions, took, now)) is None:
            return
        self._scheduler.delay_queue.pace(vertex, now + flap.wait)
        if flap.actions is not None:
            self._recorder.flapping(vertex, flap.actions)

    def _retire_undone(self, vertex: int, checked: Resource) -> None:
        """Remove ``vertex`` from the run if ``checked`` undid a resource that has left the manifest."""
        if checked is self._vertex_table.resources[vertex] and self._reversals.done(checked.ref):
            self._vertex_table.discard(vertex)
            self._results.forget([vertex])
            self._recorder.reversed(vertex)


def reported_causes(
    causes: Cause, resource: Resource, result: CheckResult, cause_of: Callable[[Resource], Cause]
) -> Cause:
    """``causes`` as events name them.

    A first change is `initial`, or comes from the manifest, or is drift since the last run. ``cause_of`` is the
    journal's answer. A refresh that is pending from an earlier process explains the change, so it is no drift. An
    event of a file that the manifest includes is no drift either, nor is an action that every run takes, nor a failure
    before any action: nothing says that the host has changed.
    """
    bits = int(causes)  # combining the members of the class takes twenty times as long
    if not bits & (_INITIAL | _DRIFT):
        return causes
    known = cause_of(resource)
    if bits & _INITIAL:
        others = bits & ~_INITIAL
        if known is Cause.INITIAL:  # it was never right: the event was, say, that of its new directory
            others &= ~_DRIFT
        if known is Cause.DRIFT and (resource.unconditional or not (others or result.actions)):
            known = Cause.INITIAL
        return CAUSE_SETS[others if others and known is Cause.DRIFT else others | known.value]
    return CAUSE_SETS[bits & ~_DRIFT | known.value] if known is Cause.INTENT else causes
