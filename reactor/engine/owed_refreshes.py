"""Refreshes that are owed from before the run: because it ended too soon, or for what happened outside of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reactor.engine.events import Cause, Result
from reactor.engine.results import Results
from reactor.engine.run_store import RunStore
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable

_UNWELL = (None, Result.FAILED, Result.BLOCKED)


class OwedRefreshes:
    """Knows who owes a refresh: ``run_store`` does, if there is one, and ``owing`` are refs that owe one in any case."""

    def __init__(
        self,
        vertex_table: VertexTable,
        results: Results,
        scheduler: Scheduler,
        run_store: RunStore | None,
        owing: Collection[str],
    ) -> None:
        self._vertex_table = vertex_table
        self._results = results
        self._scheduler = scheduler
        self._run_store = run_store
        self._owing = owing

    def schedule_owed(self, vertices: Iterable[int], now: float) -> None:
        """Those of ``vertices`` that owe a refresh pay it with their next check.

        One that is checked whatever comes of the source waits for that to be as desired: a change that failed half-way,
        and does so again, is none to hear of.
        """
        remembered = {} if self._run_store is None else self._run_store.owed_refreshes()
        if not (owing := {*self._owing, *remembered}):
            return
        for vertex in vertices:
            if (ref := self._vertex_table.refs[vertex]) in owing:
                for source in remembered.get(ref) or (ref,):
                    if not self._pledge(source, vertex):
                        self._scheduler.mark(vertex, Cause.REFRESH, now)

    def _pledge(self, source: str, below: int) -> bool:
        """Whether ``below`` hears of ``source`` without needing it, and so is told by the scheduler once that is well."""
        vertex = self._vertex_table.find(source)
        if vertex is None or not self._scheduler.topology.only_tells(vertex, below):
            return False
        if self._results.result(vertex, self._scheduler.blocking.blocked) not in _UNWELL:
            return False
        self._scheduler.refreshes.owe_from_previous_run(vertex, below)
        return True
