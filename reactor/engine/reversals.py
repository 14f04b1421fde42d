"""Undoes resources that have left the manifest with ``meta: {reverse: true}``.

The reversal of a resource is itself a resource. It joins the graph until a check of it has succeeded.
"""

from __future__ import annotations

import os
from collections.abc import Container
from typing import Any

from reactor.engine.events import Cause
from reactor.engine.run_store import RunStore
from reactor.graph.build import with_reversals
from reactor.graph.graph import Graph
from reactor.resource.backup_store import backup_store
from reactor.resource.base import Resource
from reactor.resource.plan import ResourceError


class Reversals:
    """The reversals that are in progress.

    ``undoing`` is False for a run that changes nothing, or that sees only a part of the manifest: resources that it
    does not see have not left. ``recorded`` replaces the journal in a dry run.
    """

    def __init__(
        self, run_store: RunStore | None, *, undoing: bool, recorded: Container[str] | None = None
    ) -> None:
        self._run_store = run_store
        self._undoing = undoing
        self._recorded = recorded
        self.pending: dict[str, Resource] = {}

    def join(self, graph: Graph) -> Graph:
        """``graph``, which comes into force, with the reversals of the resources that left it."""
        if self._run_store is None or not self._undoing:
            return graph
        if not (found := self._found(self._run_store, graph)):
            self.pending = {}
            return graph
        owned = {claim[:2] for resource in graph.resources.values() for claim in resource.claims()}
        self.pending = {}
        for reversal in found:
            if any(claim[:2] in owned for claim in reversal.claims()):  # by another resource now
                self._run_store.undone(reversal.ref)
            else:
                self.pending[reversal.ref] = reversal
        return with_reversals(graph, list(self.pending.values()))

    def _found(self, run_store: RunStore, graph: Graph) -> list[Resource]:
        """The reversals of resources that are not in ``graph``.

        No new ones while a part of the manifest can't be read.
        """
        if graph.has_unread_parts:
            return [each for ref, each in self.pending.items() if ref not in graph.resources]
        return run_store.reversals(graph.resources)

    async def record(self, resource: Resource, state: Any) -> None:
        """Before ``resource`` is changed for the first time, store a reversal that can restore ``state``.

        If an edit has made it change more than is stored, that is added. Raises ResourceError or OSError when that is impossible.
        """
        if self._run_store is None:
            hint = "give it a state directory, or remove reverse; what leaves the manifest is then let go"
            raise ResourceError(f"{resource.ref} could not be undone: nothing is kept in this run", hint)
        stored = self._run_store.reversal_of(resource.ref)
        if stored is None and self._is_first_change(self._run_store, resource):
            await self._run_store.record_reversal(resource.ref, await resource.reversal(state))
        elif stored is not None and not resource.is_undone_by(stored):
            whole = _completed(stored, await resource.reversal(state))
            if whole != stored:
                await self._run_store.record_reversal(resource.ref, whole)

    def _is_first_change(self, run_store: RunStore, resource: Resource) -> bool:
        """Whether nothing was changed so far: it is new, or it was as desired from the start and is edited now."""
        return not run_store.can_undo(resource.ref) or run_store.cause_of(resource) is Cause.INTENT

    async def preflight(self, resource: Resource, state: Any) -> None:
        """For a dry run: raise the errors that `record` would raise for a change of ``resource``, and store nothing."""
        if self._is_recorded(resource.ref):
            return
        token = backup_store.set(_Nowhere())
        try:
            await resource.reversal(state)
        finally:
            backup_store.reset(token)

    def _is_recorded(self, ref: str) -> bool:
        """Whether the state of ``ref`` before its first change is stored, or this run never stores any."""
        if self._run_store is not None:
            return self._run_store.can_undo(ref)
        return self._recorded is None or ref in self._recorded

    def done(self, ref: str) -> bool:
        """A check of ``ref`` succeeded. Return whether that has undone a resource."""
        if self._run_store is None or self.pending.pop(ref, None) is None:
            return False
        self._run_store.undone(ref)
        return True


def _completed(stored: Resource, later: Resource) -> Resource:
    """``stored``, with the properties that only ``later`` has, if both make the same sort of thing."""
    if getattr(stored, "ensure", None) != getattr(later, "ensure", None):
        return stored
    first, rest = (
        each.model_dump(exclude_unset=True, exclude_none=True, by_alias=True) for each in (stored, later)
    )
    return type(stored)(**{**rest, **first})


class _Nowhere:
    """The backup store of a dry run, which keeps nothing."""

    async def keep(self, path: str, ref: str, fd: int) -> None:
        """Keep nothing."""

    async def keep_for_undo(self, ref: str, fd: int) -> str:  # noqa: ARG002 - the signature of BackupStore
        """Keep nothing; return a path that is never read."""
        return os.devnull
