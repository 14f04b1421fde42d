"""What a check that changes nothing can tell of the one that would."""

from __future__ import annotations

from collections import deque
from typing import Any

from reactor.engine.check import Verdict
from reactor.engine.events import Result
from reactor.engine.ledger import Ledger
from reactor.engine.outcome import Outcome
from reactor.engine.reversals import Reversals
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler
from reactor.graph.digraph import predecessors
from reactor.graph.topology import Topology


class Rehearsal:
    """Knows what of a run is not applied."""

    def __init__(self, roster: Roster, ledger: Ledger, reversals: Reversals, scheduler: Scheduler) -> None:
        self._roster = roster
        self._ledger = ledger
        self._reversals = reversals
        self._scheduler = scheduler
        self._topology: Topology | None = None
        self._before: list[list[int]] = []

    async def take(self, vertex: int, state: Any) -> None:
        """``vertex`` was found as ``state`` and would be changed: raise what is known to keep a run from that."""
        resource = self._roster.resources[vertex]
        if resource.meta.mode == "warn":  # then no run changes it
            return
        if resource.meta.reverse:
            await self._reversals.rehearse(resource, state)
        await resource.rehearse(state)

    def excuse(self, vertex: int, verdict: Verdict) -> Verdict:
        """A failure behind something that was not applied says nothing: the honest answer is "can't tell"."""
        if self._roster.resources[vertex].members:  # it failed because one of them did
            return verdict
        if (up := self._unapplied_before(vertex)) is None:
            return verdict
        said = str(verdict.error).partition("\n")[0]  # what a program wrote comes in further lines
        text = f"Can't tell before {self._roster.refs[up]} is applied ({said})"
        return Verdict(Outcome.WOULD_CHANGE, (text,))

    def _unapplied_before(self, vertex: int) -> int | None:
        """The nearest of all that go before ``vertex``, over whatever edges, that would be changed."""
        if self._topology is not self._scheduler.topology:
            self._topology = self._scheduler.topology
            self._before = predecessors(self._topology.successors)
        blocked = self._scheduler.blame.blocked
        seen, ahead = {vertex}, deque([vertex])
        while ahead:
            for up in self._before[ahead.popleft()]:
                if up in seen:
                    continue
                if self._ledger.result(up, blocked) is Result.WOULD_CHANGE:
                    return up
                seen.add(up)
                ahead.append(up)
        return None
