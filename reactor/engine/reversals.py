"""Undoes resources that have left the manifest with ``meta: {reverse: true}``.

The reversal of a resource is itself a resource. It joins the graph until a check of it has succeeded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from reactor.engine.events import Cause
from reactor.engine.run_store import RunStore, StoredReversals
from reactor.graph.build import with_reversals
from reactor.graph.graph import Graph
from reactor.resource.backup_store import backup_store
from reactor.resource.base import Resource
from reactor.resource.plan import ResourceError
from reactor.resource.relations import Claim


class Reversals:
    """The reversals that are in progress.

    ``undoing`` is False for a run that changes nothing, or that sees only a part of the manifest: resources that it
    does not see have not left. ``recorded`` replaces the journal in a dry run.
    """

    def __init__(
        self, run_store: RunStore | None, *, undoing: bool, recorded: StoredReversals | None = None
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
        owners = _owners_in(graph)
        self.pending = {}
        for reversal in found:
            if taken := _taken(reversal, owners):  # by another resource now
                self._hand_over(self._run_store, reversal, taken)
            else:
                self.pending[reversal.ref] = reversal
        return with_reversals(graph, list(self.pending.values()))

    def _found(self, run_store: RunStore, graph: Graph) -> list[Resource]:
        """The reversals of resources that are not in ``graph``, and that none of its loops may make later.

        No new ones while a part of the manifest can't be read.
        """
        if graph.has_unread_parts:
            return [each for ref, each in self.pending.items() if ref not in graph.resources]
        return run_store.reversals(graph.resources, graph.may_have)

    def _hand_over(self, run_store: RunStore, reversal: Resource, owners: Sequence[Resource]) -> None:
        """Let one of the ``owners`` be undone by ``reversal``, if it is the same resource under another name."""
        for owner in owners:
            if not (owner.meta.reverse and type(owner) is type(reversal)) or run_store.can_undo(owner.ref):
                continue
            if (renamed := _renamed(reversal, owner.name)) is not None:
                run_store.hand_over(reversal.ref, owner.ref, renamed)
                return
        run_store.undone(reversal.ref)

    async def record(self, resource: Resource, state: Any) -> None:
        """Before ``resource`` is changed for the first time, store a reversal that can restore ``state``.

        If an edit has made it change more than is stored, that is added. Raises ResourceError or OSError when that is impossible.
        """
        if self._run_store is None:
            hint = "give the run a state directory, or remove reverse: a resource that leaves the manifest then stays as it is"
            reason = "the change could not be undone: this run keeps no state"
            raise ResourceError(f"{resource.ref} stays unchanged, because {reason}", hint)
        stored = self._run_store.reversal_of(resource.ref)
        if stored is None and self._is_first_change(self._run_store, resource):
            await self._run_store.record_reversal(resource.ref, await resource.reversal(state))
        elif stored is not None and not _is_undone_by(resource, stored):
            whole = _completed(stored, await resource.reversal(state))
            if whole != stored:
                await self._run_store.record_reversal(resource.ref, whole)

    def _is_first_change(self, run_store: RunStore, resource: Resource) -> bool:
        """Whether nothing was changed so far: it is new, or it was as desired from the start and is edited now."""
        return not run_store.can_undo(resource.ref) or run_store.cause_of(resource) is Cause.INTENT

    async def preflight(self, resource: Resource, state: Any) -> None:
        """For a dry run: raise the errors that `record` would raise for a change of ``resource``, and store nothing."""
        stored = self._run_store or self._recorded
        if stored is None:  # the real run would not store any
            return
        if stored.can_undo(resource.ref):
            if (reversal := stored.reversal_of(resource.ref)) is not None:
                _is_undone_by(resource, reversal)
            return
        token = backup_store.set(_Nowhere())
        try:
            await resource.reversal(state)
        finally:
            backup_store.reset(token)

    def done(self, ref: str) -> bool:
        """A check of ``ref`` succeeded. Return whether that has undone a resource."""
        if self._run_store is None or self.pending.pop(ref, None) is None:
            return False
        self._run_store.undone(ref)
        return True


def _owners_in(graph: Graph) -> Mapping[tuple[str, str], Sequence[tuple[Resource, Claim]]]:
    """The resources that claim each thing, with their claims."""
    owners: dict[tuple[str, str], list[tuple[Resource, Claim]]] = {}
    for resource in graph.resources.values():
        for claim in resource.claims():
            owners.setdefault((claim.space, claim.key), []).append((resource, claim))
    return owners


def _taken(
    reversal: Resource, owners: Mapping[tuple[str, str], Sequence[tuple[Resource, Claim]]]
) -> list[Resource]:
    """The resources that want otherwise than ``reversal``. Those that want the same only share a thing with it."""
    return [
        owner
        for claim in reversal.claims()
        for owner, its in owners.get((claim.space, claim.key), ())
        if not claim.desired or claim.disagreement(its)
    ]


def not_taken(reversals: Sequence[Resource], graph: Graph) -> list[str]:
    """The refs of those ``reversals`` that no resource in ``graph`` is in the way of."""
    owners = _owners_in(graph) if reversals else {}
    return [each.ref for each in reversals if not _taken(each, owners)]


def _renamed(reversal: Resource, name: str) -> Resource | None:
    """``reversal`` under another name; None if it would not restore the same things then."""
    properties = reversal.model_dump(exclude_unset=True, by_alias=True)
    try:
        renamed = type(reversal).model_validate({**properties, "name": name})
    except ValueError:  # pydantic's
        return None
    is_same = {claim[:2] for claim in renamed.claims()} == {claim[:2] for claim in reversal.claims()}
    return renamed if is_same else None


def _is_undone_by(resource: Resource, stored: Resource) -> bool:
    """Whether ``stored`` has all that ``resource`` changes. Raises ResourceError if it restores another thing."""
    if (is_undone := resource.is_undone_by(stored)) is None:
        words = f"the edit makes {resource.ref} manage something else, and only what it managed before could be undone"
        raise ResourceError(
            words, "remove it for one run, or give it another name: then what it managed before is undone"
        )
    return is_undone


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
