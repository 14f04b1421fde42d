"""What outlives a run, which the journal stores: causes, pending refreshes, reversals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from reactor.engine.event_recorder import Results
from reactor.engine.events import Cause, Result
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import VertexTable
from reactor.resource.base import Resource


class RunStore(Protocol):
    """Told before and after what must not be forgotten; asked at the start."""

    def cause_of(self, resource: Resource) -> Cause:
        """Why ``resource`` is changed, when that is not clear: it is the first time in this life, or an event came.

        INITIAL when the journal does not know it, INTENT when its properties have changed since it was last applied, or
        a file that it `reads`; DRIFT when they have not: then the world did.
        """

    def owed_refreshes(self) -> Mapping[str, Collection[str]]:
        """Refreshes still pending from an earlier process: subscriber -> the resources whose changes caused it."""

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """``ref`` is about to be changed, so refreshes of ``subscribers`` are pending. On disk when this returns."""

    def applied(self, resource: Resource) -> None:
        """``resource`` was found, or made, as its properties say."""

    def begins(self, ref: str) -> None:
        """A check of ``ref`` that carries a refresh begins."""

    def refreshed(self, ref: str) -> None:
        """That check succeeded: the refreshes pending when it began are done; those recorded since stay pending."""

    def can_undo(self, ref: str) -> bool:
        """Whether it is on record how things were before the first change of ``ref``."""

    async def record_reversal(self, ref: str, reversal: Resource) -> None:
        """``reversal`` brings that back. On disk when this returns; raises ResourceError when that can't be."""

    def reversals(self, resources: Mapping[str, Resource]) -> list[Resource]:
        """``resources`` are in force now: what undoes those that have left and asked for it, the last done first.

        Of those that no longer ask for it, nothing is kept on record.
        """

    def undone(self, ref: str) -> None:
        """``ref`` is as it was before its first change: forget it."""


_UNWELL = (None, Result.FAILED, Result.BLOCKED)


class OwedRefreshes:
    """Schedules the refreshes pending from before the run: those in ``run_store``, and those of the refs ``owing``."""

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
        """Schedule the pending refreshes of ``vertices``.

        A subscriber that does not require the source is refreshed only once the source is as desired: a change that failed
        half-way, and fails again, must not refresh it.
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
        """Leave the refresh of ``below`` to the scheduler if it subscribes to ``source`` without requiring it; return whether."""
        vertex = self._vertex_table.find(source)
        if vertex is None or not self._scheduler.topology.refreshes_only(vertex, below):
            return False
        if self._results.result(vertex, self._scheduler.blocking.blocked) not in _UNWELL:
            return False
        self._scheduler.refreshes.owe_from_previous_run(vertex, below)
        return True
