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
from reactor.graph.topology import Adjacency, Topology


class Rehearsal:
    """Knows what of a run is not applied."""

    def __init__(self, roster: Roster, ledger: Ledger, reversals: Reversals, scheduler: Scheduler) -> None:
        self._roster = roster
        self._ledger = ledger
        self._reversals = reversals
        self._scheduler = scheduler
        self._topology: Topology | None = None
        self._before: Adjacency = []

    async def take(self, vertex: int, state: Any) -> None:
        """``vertex`` was found as ``state`` and would be changed: raise what is known to keep a run from that."""
        resource = self._roster.resources[vertex]
        if resource.meta.mode == "warn":  # then no run changes it
            return
        if resource.meta.reverse:
            await self._reversals.rehearse(resource, state)
        await resource.rehearse(state)

    def excuse(self, vertex: int, verdict: Verdict) -> Verdict:
        """A failure below something that was not applied says nothing: the honest answer is "can't tell".

        What may come by any command, as an account, may also come by what only goes before, in the order of a manifest.
        """
        if self._roster.resources[vertex].members:  # it failed because one of them did
            return verdict
        topology = self._scheduler.topology
        before = self._all_predecessors(topology) if verdict.may_come else topology.strong_predecessors
        if (up := self._unapplied(vertex, before)) is None:
            return verdict
        said = str(verdict.error).partition("\n")[0]  # what a program wrote comes in further lines
        text = f"Can't tell before {self._roster.refs[up]} is applied ({said})"
        return Verdict(Outcome.WOULD_CHANGE, (text,))

    def _all_predecessors(self, topology: Topology) -> Adjacency:
        if self._topology is not topology:
            self._topology = topology
            self._before = list(map(tuple, predecessors(topology.successors)))
        return self._before

    def _unapplied(self, vertex: int, before: Adjacency) -> int | None:
        """The nearest of all ``before`` ``vertex`` that would be changed."""
        blocked = self._scheduler.blame.blocked
        seen, ahead = {vertex}, deque([vertex])
        while ahead:
            for up in before[ahead.popleft()]:
                if up in seen:
                    continue
                if self._ledger.result(up, blocked) is Result.WOULD_CHANGE:
                    return up
                seen.add(up)
                ahead.append(up)
        return None
