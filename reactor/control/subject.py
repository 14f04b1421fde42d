"""What can be asked about one run, and asked of it. Knows nothing of HTTP."""

from __future__ import annotations

import json
import time
from typing import Any

import trio

from reactor.control.board import UNKNOWN, Board, Moment, Standing, record_of, watching_record
from reactor.control.broadcast import Broadcast
from reactor.control.names import find, names_of, unknown
from reactor.control.pauser import Pauser
from reactor.control.question import Question
from reactor.engine.engine import Engine
from reactor.engine.events import Result
from reactor.engine.workers import SLICE
from reactor.errors import ReactorError
from reactor.metrics.tally import Tally


class NoPausesError(ReactorError):
    """The run keeps no state, so nothing of it can be paused."""

    code = "R0606"


class Subject:
    """One run: its engine, what is known of it, its live stream, its pauses, its numbers, and where its page is."""

    def __init__(
        self,
        engine: Engine,
        board: Board,
        broadcast: Broadcast,
        pauser: Pauser | None,
        tally: Tally,
        *,
        page_url: str | None = None,
    ) -> None:
        self.engine = engine
        self.board = board
        self.broadcast = broadcast
        self.pauser = pauser
        self.tally = tally
        self.page_url = page_url

    def run_record(self) -> dict[str, Any]:
        """The run as a whole, as a JSON object."""
        board, facts = self.board, self.board.facts
        return {
            "manifest": facts.manifest,
            "pid": facts.pid,
            "started": facts.started,
            "mode": "noop" if facts.noop else "enforce",
            "generation": board.generation,
            "rejected": None
            if board.rejected is None
            else {"time": board.rejected.time, "problems": board.rejected.problems},
            "converged": self.engine.scheduler.converged,
            "converged_at": board.converged_at,
            "changes": board.changes,
            "events_lost": board.events_lost,
            "audit_found": board.audit_found,
            "readers": self.broadcast.listeners,
            "readers_dropped": self.broadcast.dropped,
        }

    async def status(self, question: Question) -> str:
        """The answer as JSON text. Lets the event descriptors be read in between. Raises UnknownNameError."""
        roster, survey = self.engine.roster, _Survey(question)
        slice_end = trio.current_time() + SLICE
        for vertex in sorted(roster.present):
            if trio.current_time() > slice_end:
                await trio.lowlevel.checkpoint()
                slice_end = trio.current_time() + SLICE
            if (standing := self.board.standings.get(roster.refs[vertex])) is not None:
                names = names_of(roster.resources[vertex])
                survey.take(standing, names, self._moment(vertex))
        if question.match is not None and not survey.matched:
            raise unknown(roster, question.match)
        head = {
            "run": {**self.run_record(), "in_motion": survey.in_motion},
            "counts": survey.counts,
            "watchers": [watching_record(event) for event in self.board.watchers.values()],
        }
        return f'{json.dumps(head, separators=(",", ":"))[:-1]},"resources":[{",".join(survey.records)}]}}'

    def resource(self, name: str) -> dict[str, Any]:
        """One resource, by its ref or alias, as a JSON object. Raises UnknownNameError."""
        vertex = find(self.engine.roster, name)
        standing = self.board.standings[self.engine.roster.refs[vertex]]
        return record_of(standing, self._moment(vertex))

    def pause(self, pattern: str, seconds: float, reason: str) -> list[str]:
        """Pause what matches. Returns the refs. Raises UnknownNameError, OSError and NoPausesError."""
        return self._pauses().pause(pattern, seconds, reason)

    def resume(self, pattern: str) -> list[str]:
        """Take every pause of what matches back. Returns the refs that were paused; raises as `pause`."""
        return self._pauses().resume(pattern)

    def _pauses(self) -> Pauser:
        if self.pauser is None:
            raise NoPausesError("this run keeps no state, so nothing can be paused")
        return self.pauser

    def _moment(self, vertex: int) -> Moment:
        """What only the engine knows of a resource, and no event tells."""
        engine = self.engine
        meta = engine.roster.resources[vertex].meta
        mode = "noop" if meta.noop or engine.options.noop else meta.mode
        due = engine.scheduler.bursts.due(vertex)
        refresh_at = None if due is None else time.time() + max(due - trio.current_time(), 0.0)
        is_moving = engine.scheduler.in_motion(vertex)
        owed = engine.scheduler.causes(vertex).words if is_moving else ()
        return Moment(mode, is_moving, refresh_at, owed)


class _Survey:
    """Gathers the answer to one question, resource by resource."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._now = time.time()
        self.counts = dict.fromkeys((*map(str, Result), UNKNOWN, "paused"), 0)
        self.in_motion = 0
        self.matched = False
        self.records: list[str] = []

    def take(self, standing: Standing, names: tuple[str, ...], moment: Moment) -> None:
        """Count one resource, and keep it as JSON text if it was asked for."""
        self.counts[standing.state] += 1
        self.counts["paused"] += standing.paused is not None
        self.in_motion += moment.in_motion
        if not self._question.means(names):
            return
        self.matched = True
        is_fine = standing.fine(self._now) and not moment.in_motion
        if self._question.wants(standing.state, is_fine=is_fine):
            self.records.append(json.dumps(record_of(standing, moment), separators=(",", ":")))
