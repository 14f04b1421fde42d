"""Answers requests about one run, without HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from typing import Any

import trio

from reactor.clock import STEP, uptime
from reactor.control.broadcast import Broadcast
from reactor.control.full_checks import Answering
from reactor.control.names import find, names_of, unknown
from reactor.control.pause_controller import PauseController
from reactor.control.protocol import StatusQuery
from reactor.control.status_table import (
    UNKNOWN,
    WAITING,
    EngineStatus,
    ResourceStatus,
    StatusTable,
    record_of,
    watching_record,
)
from reactor.engine.engine import Engine
from reactor.engine.events import Result
from reactor.engine.worker_pool import SLICE
from reactor.errors import ReactorError
from reactor.metrics.tally import Tally


class NoPausesError(ReactorError):
    """The run has no state directory, so nothing can be paused."""

    code = "R0606"


class RunHandle:
    """One run: its engine, status, event stream, pauses and counts, and the address of its live page."""

    def __init__(
        self,
        engine: Engine,
        status_table: StatusTable,
        broadcast: Broadcast,
        pause_controller: PauseController | None,
        tally: Tally,
        *,
        page_url: str | None = None,
    ) -> None:
        self.engine = engine
        self.status_table = status_table
        self.broadcast = broadcast
        self.pause_controller = pause_controller
        self.tally = tally
        self.page_url = page_url
        self.answering: Answering | None = None
        self._began = uptime()
        self._clock_ahead = time.time() - self._began

    def run_record(self) -> dict[str, Any]:
        """The run as a whole, as a JSON object."""
        status_table, facts, tally = self.status_table, self.status_table.facts, self.tally
        return {
            "manifest": facts.manifest,
            "pid": facts.pid,
            "started": facts.started,
            "up": uptime() - self._began,
            "clock_moved": self._clock_moved(),
            "mode": "noop" if facts.noop else "enforce",
            "generation": tally.generation,
            "rejected": None
            if status_table.rejected is None
            else {"time": status_table.rejected.time, "problems": status_table.rejected.problems},
            "journal": status_table.journal_refusal() or None,
            "converged": self.engine.scheduler.converged,
            "converged_at": status_table.converged_at,
            "changes": status_table.changes,
            "events_lost": sum(tally.events_lost.values()),
            "audit_found": tally.audit_found,
            "readers": self.broadcast.listeners,
            "readers_dropped": self.broadcast.dropped,
        }

    def _clock_moved(self) -> float:
        """The seconds by which the clock of the host was set forward since the start; negative if it was set back."""
        moved = time.time() - uptime() - self._clock_ahead
        return moved if abs(moved) > STEP else 0.0

    async def status(self, query: StatusQuery) -> str:
        """The answer as JSON. It yields to the event loop in between. Raises UnknownNameError."""
        vertex_table, survey = self.engine.vertex_table, _StatusReply(query)
        slice_end = trio.current_time() + SLICE
        for vertex in sorted(vertex_table.present):
            if trio.current_time() > slice_end:
                await trio.lowlevel.checkpoint()
                slice_end = trio.current_time() + SLICE
            if (
                resource_status := self.status_table.resource_statuses.get(vertex_table.refs[vertex])
            ) is not None:
                names = names_of(vertex_table.resources[vertex])
                survey.take(resource_status, names, self._engine_status(vertex))
        if query.match is not None and not survey.matched:
            raise unknown(vertex_table, query.match)
        head = {
            "run": {**self.run_record(), "in_motion": survey.in_motion},
            "counts": survey.counts,
            "watchers": [watching_record(event) for event in self.status_table.watchers.values()],
        }
        return f'{json.dumps(head, separators=(",", ":"))[:-1]},"resources":[{",".join(survey.records)}]}}'

    def resource(self, name: str) -> dict[str, Any]:
        """One resource, by its ref or alias, as a JSON object. Raises UnknownNameError."""
        vertex = find(self.engine.vertex_table, name)
        resource_status = self.status_table.resource_statuses[self.engine.vertex_table.refs[vertex]]
        return record_of(resource_status, self._engine_status(vertex))

    def pause(self, patterns: Collection[str], seconds: float, reason: str) -> list[str]:
        """Pause the resources that match any of ``patterns``. Returns their refs. Raises UnknownNameError, OSError and NoPausesError."""
        return self._pauses().pause(patterns, seconds, reason)

    def resume(self, patterns: Collection[str]) -> list[str]:
        """End the pauses of the resources that match. Returns the refs that were paused; raises as `pause`."""
        return self._pauses().resume(patterns)

    def _pauses(self) -> PauseController:
        if self.pause_controller is None:
            raise NoPausesError("this run has no state directory, so nothing can be paused")
        return self.pause_controller

    def _engine_status(self, vertex: int) -> EngineStatus:
        """The part of the status that no event has, from the engine."""
        engine = self.engine
        meta = engine.vertex_table.resources[vertex].meta
        mode = "noop" if meta.noop or engine.options.noop else meta.mode
        due = engine.scheduler.debouncer.due(vertex)
        refresh_at = None if due is None else time.time() + max(due - trio.current_time(), 0.0)
        is_moving = engine.scheduler.in_motion(vertex)
        pending = engine.scheduler.causes(vertex).words if is_moving else ()
        is_checking = engine.dispatcher.pool.is_checking(vertex)
        return EngineStatus(mode, is_moving, refresh_at, pending, is_checking)


class _StatusReply:
    """Collects the answer to one status query, resource by resource."""

    def __init__(self, query: StatusQuery) -> None:
        self._query = query
        self._now = time.time()
        self.counts = dict.fromkeys((*map(str, Result), UNKNOWN, WAITING, "paused"), 0)
        self.in_motion = 0
        self.matched = False
        self.records: list[str] = []

    def take(
        self, resource_status: ResourceStatus, names: tuple[str, ...], engine_status: EngineStatus
    ) -> None:
        """Count one resource, and keep its record as JSON if the query selects it."""
        self.counts[resource_status.state] += 1
        self.counts["paused"] += resource_status.paused is not None
        self.in_motion += engine_status.in_motion
        if not self._query.matches(names):
            return
        self.matched = True
        is_ok = resource_status.is_ok(self._now) and not engine_status.in_motion
        if self._query.selects(resource_status.state, is_ok=is_ok):
            self.records.append(json.dumps(record_of(resource_status, engine_status), separators=(",", ":")))
