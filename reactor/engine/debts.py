"""Refreshes that are owed from before the run: because it ended too soon, or for what happened outside of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reactor.engine.events import Cause, Result
from reactor.engine.ledger import Ledger
from reactor.engine.memory import Memory
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler

_UNWELL = (None, Result.FAILED, Result.BLOCKED)


class Debts:
    """Knows who owes a refresh: ``memory`` does, if there is one, and ``owing`` are refs that owe one in any case."""

    def __init__(
        self,
        roster: Roster,
        ledger: Ledger,
        scheduler: Scheduler,
        memory: Memory | None,
        owing: Collection[str],
    ) -> None:
        self._roster = roster
        self._ledger = ledger
        self._scheduler = scheduler
        self._memory = memory
        self._owing = owing

    def call_in(self, vertices: Iterable[int], now: float) -> None:
        """Those of ``vertices`` that owe a refresh pay it with their next check.

        One that is checked whatever comes of the source waits for that to be as desired: a change that failed half-way,
        and does so again, is none to hear of.
        """
        remembered = {} if self._memory is None else self._memory.owed_refreshes()
        if not (owing := {*self._owing, *remembered}):
            return
        for vertex in vertices:
            if (ref := self._roster.refs[vertex]) in owing:
                for source in remembered.get(ref) or (ref,):
                    if not self._pledge(source, vertex):
                        self._scheduler.mark(vertex, Cause.REFRESH, now)

    def _pledge(self, source: str, below: int) -> bool:
        """Whether ``below`` hears of ``source`` without needing it, and so is told by the scheduler once that is well."""
        vertex = self._roster.find(source)
        if vertex is None or not self._scheduler.topology.only_tells(vertex, below):
            return False
        if self._ledger.result(vertex, self._scheduler.blame.blocked) not in _UNWELL:
            return False
        self._scheduler.refreshes.pledge(vertex, below)
        return True
