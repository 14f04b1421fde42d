"""Tells the world what happens: turns the engine's findings into events, and books them in the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable

from reactor.engine.blame import Blame, Known
from reactor.engine.check import Verdict
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
    Unblocked,
)
from reactor.engine.ledger import Ledger
from reactor.engine.outcome import Outcome
from reactor.engine.roster import Difference, Roster

_CHANGED = Result.CHANGED  # see `Outcome`
_RESULTS = {
    Outcome.OK: Result.OK,
    Outcome.CHANGED: Result.CHANGED,
    Outcome.WOULD_CHANGE: Result.WOULD_CHANGE,
    Outcome.FAILED: Result.FAILED,
    Outcome.UNHEALTHY: Result.FAILED,
    Outcome.CRITICAL: Result.FAILED,
}


class Herald:
    """Knows the name of every vertex. What left the graph is not spoken of."""

    def __init__(self, roster: Roster, ledger: Ledger, emit: Callable[[Event], None]) -> None:
        self._roster = roster
        self._ledger = ledger
        self._emit = emit

    def checked(
        self, vertex: int, causes: Cause, verdict: Verdict, duration: float, retry_in: float | None
    ) -> None:
        """A check ended."""
        if vertex not in self._roster.present:
            return
        if verdict.declined is not None:
            self._declined(vertex, verdict.declined)
            return
        result = _RESULTS[verdict.outcome]
        self._ledger.book(vertex, result)
        now, ref = time.time(), self._roster.refs[vertex]
        self._emit(
            Checked(
                now, ref, result, causes, duration,
                verdict.actions, verdict.diffs, verdict.error, verdict.hint, retry_in, verdict.health, verdict.code,
            )
        )  # fmt: skip
        if result is _CHANGED and causes is Cause.AUDIT:
            self._emit(AuditFound(now, ref))

    def _declined(self, vertex: int, reason: str) -> None:
        if self._ledger.result(vertex, ()) is not Result.SKIPPED:
            self._ledger.book(vertex, Result.SKIPPED)
            self._emit(Skipped(time.time(), self._roster.refs[vertex], reason))

    def transitions(self, blame: Blame) -> list[int]:
        """Who became blocked by whom, and who is free again. Returns them all."""
        refs = self._roster.refs
        taken = blame.take_transitions()
        known: Known = {}
        for vertex, blocked in taken:
            if not blocked:
                self._emit(Unblocked(time.time(), refs[vertex]))
            elif culprits := blame.culprits(vertex, known):
                self._emit(Blocked(time.time(), refs[vertex], tuple(refs[culprit] for culprit in culprits)))
        return [vertex for vertex, _ in taken]

    def said(self, vertex: int, line: str) -> None:
        """The running check said a line."""
        self._emit(Output(time.time(), self._roster.refs[vertex], line))

    def noted(self, vertex: int, line: str) -> None:
        """The running check said what stays true of the vertex."""
        self._emit(Noted(time.time(), self._roster.refs[vertex], line))

    def flapping(self, vertex: int, actions: dict[str, int]) -> None:
        """Something else changes the vertex back, or the values that its expressions have."""
        late = self._roster.resources[vertex].late
        expressions = () if late is None else late.moving
        self._emit(Flapping(time.time(), self._roster.refs[vertex], actions, expressions))

    def converged(self, duration: float) -> None:
        """All is as desired."""
        self._emit(Converged(time.time(), len(self._roster.present), duration))

    def reloaded(self, difference: Difference, undoing: Container[str]) -> Reloaded:
        """Another generation is in force. What is ``undoing`` a resource is gone for people. Returns what was told."""
        changed, added, gone = (
            [self._roster.refs[vertex] for vertex in vertices]
            for vertices in (difference.changed, difference.added, difference.gone)
        )
        gone += [ref for ref in changed if ref in undoing]
        changed = [ref for ref in changed if ref not in undoing]
        added = [ref for ref in added if ref not in undoing]
        event = Reloaded(time.time(), len(difference.kept), tuple(changed), tuple(added), tuple(gone))
        self._emit(event)
        return event

    def reversing(self, refs: Iterable[str]) -> None:
        """These have left the manifest and are undone now."""
        for ref in refs:
            self._emit(Reversing(time.time(), ref))

    def reversed(self, vertex: int) -> None:
        """The vertex is undone."""
        self._emit(Reversed(time.time(), self._roster.refs[vertex]))

    def ended(self, blame: Blame, duration: float, reason: str, outdated: tuple[str, ...] = ()) -> Ended:
        """The run is over; what was never attempted is skipped. ``outdated`` as in `Ended`. Returns the last event."""
        present = sorted(self._roster.present)
        left = self._ledger.skip_rest(present, blame.blocked)
        for vertex in left:
            self._emit(Skipped(time.time(), self._roster.refs[vertex], reason))
        counts = self._ledger.counts(present, blame.blocked)
        event = Ended(time.time(), counts, self._ledger.changes, duration, reason, len(left), outdated)
        self._emit(event)
        return event
