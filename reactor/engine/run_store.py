"""The interface to the data that outlives a run: causes, pending refreshes, reversals. The journal implements it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from reactor.engine.event_recorder import Results
from reactor.engine.events import Cause, Result
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_table import LOOP, VertexTable, made_by
from reactor.resource.base import Resource


class StoredReversals(Protocol):
    """Knows what undoes a resource."""

    def can_undo(self, ref: str) -> bool:
        """Whether the state before the first change of ``ref`` is stored."""

    def reversal_of(self, ref: str) -> Resource | None:
        """The stored reversal of ``ref``; None if there is none, or nothing to undo."""


class RunStore(StoredReversals, Protocol):
    """Records what must survive the process before and after each change, and returns it at the start of a run."""

    def prepare_generation(self, resources: Mapping[str, Resource]) -> Callable[[], None]:
        """Prepare the record of a generation of the manifest with ``resources``, by ref; called in a thread.

        Call what it returns on the event loop, when the generation comes into force: it takes little time.
        """

    def cause_of(self, resource: Resource) -> Cause:
        """Which cause to report for a change at the first check of this process, or after an event.

        INITIAL if the journal does not know ``resource``; INTENT if its properties, or one of its source files, have
        changed since it was last applied; else DRIFT: the host has changed.
        """

    def held_secrets(self, ref: str) -> bool:
        """Whether ``ref`` held secrets when it was last applied. They may have changed since, and be unknown now."""

    def pending_refreshes(self) -> Mapping[str, Collection[str]]:
        """Refreshes still pending from an earlier process: subscriber -> the resources whose changes caused it."""

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """``ref`` is about to be changed, so refreshes of ``subscribers`` become pending. On disk when this returns."""

    def pass_on(self, ref: str, subscribers: Sequence[str]) -> None:
        """Refreshes because of ``ref`` are pending for ``subscribers``, too: a loop has held them until now."""

    def applied(self, resource: Resource) -> None:
        """``resource`` was found to be as its properties say, or was changed to be."""

    def begins(self, ref: str) -> None:
        """A check of ``ref`` that carries a refresh begins."""

    def refreshed(self, ref: str) -> None:
        """That check succeeded: the refreshes pending when it began are done; those recorded since stay pending."""

    async def record_reversal(self, ref: str, reversal: Resource) -> None:
        """Store ``reversal``, which restores that state.

        On disk when this returns; raises ResourceError if it can't be stored.
        """

    def reversals(self, resources: Mapping[str, Resource], may_have: Callable[[str], bool]) -> list[Resource]:
        """The reversals of resources that asked to be undone and are neither in ``resources`` nor may come there.

        The last changed comes first. ``may_have`` says whether a ref is in the manifest, or in a part of it that is not
        known yet.

        Deletes the records of resources that no longer ask for it.
        """

    def hand_over(self, ref: str, heir: str, reversal: Resource) -> None:
        """``heir`` is ``ref`` under another name: it is undone by ``reversal``, and ``ref`` has no record any more."""

    def undone(self, ref: str) -> None:
        """``ref`` is as it was before its first change: delete its record."""


_UNWELL = (None, Result.FAILED, Result.BLOCKED)


class PendingRefreshes:
    """Schedules the refreshes from before the run: those in ``run_store`` and those of the refs ``pending_refreshes``."""

    def __init__(
        self,
        vertex_table: VertexTable,
        results: Results,
        scheduler: Scheduler,
        run_store: RunStore | None,
        pending_refreshes: Collection[str],
    ) -> None:
        self._vertex_table = vertex_table
        self._results = results
        self._scheduler = scheduler
        self._run_store = run_store
        self._pending_refs = pending_refreshes

    def schedule_pending(self, vertices: Iterable[int], now: float) -> None:
        """Schedule the pending refreshes of ``vertices``.

        A subscriber that does not require the source is refreshed only once the source is as desired: if a change
        failed half-way and fails again, it must not refresh the subscriber.
        """
        vertices = [*vertices]
        remembered = {} if self._run_store is None else self._run_store.pending_refreshes()
        for vertex in vertices:
            if self._vertex_table.resources[vertex].kind == LOOP:
                self._pass_on(vertex, remembered, now)
        if not (pending_refreshes := {*self._pending_refs, *remembered}):
            return
        for vertex in vertices:
            if (ref := self._vertex_table.refs[vertex]) in pending_refreshes:
                for source in remembered.get(ref) or (ref,):
                    if not self._restore(source, vertex):
                        self._scheduler.mark(vertex, Cause.REFRESH, now)

    def _pass_on(self, loop: int, remembered: Mapping[str, Collection[str]], now: float) -> None:
        """Pass a pending refresh of ``loop`` to what it makes, if that is known by now and subscribes to the sources."""
        if Cause.REFRESH not in self._scheduler.causes(loop):
            return
        resource = self._vertex_table.resources[loop]
        made = [vertex for ref in made_by(resource) if (vertex := self._vertex_table.find(ref)) is not None]
        notify = self._scheduler.topology.notify
        for ref in remembered.get(resource.ref, ()):
            source = self._vertex_table.find(ref)
            below = [vertex for vertex in made if source is not None and vertex in notify[source]]
            if below and self._run_store is not None:
                self._run_store.pass_on(ref, [self._vertex_table.refs[vertex] for vertex in below])
            for vertex in below:
                self._scheduler.mark(vertex, Cause.REFRESH, now)

    def _restore(self, source: str, below: int) -> bool:
        """If ``below`` subscribes to ``source`` without requiring it, leave its refresh to the scheduler.

        Returns whether it did.
        """
        vertex = self._vertex_table.find(source)
        if vertex is None or not self._scheduler.topology.refreshes_only(vertex, below):
            return False
        if self._results.result(vertex, self._scheduler.blocking.blocked) not in _UNWELL:
            return False
        self._scheduler.refreshes.add_pending(vertex, below)
        return True
