"""What survives the process, as far as the engine is concerned. The journal provides it; a run may do without."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from reactor.engine.events import Cause
from reactor.resource.base import Resource


class RunStore(Protocol):
    """Told before and after what must not be forgotten; asked at the start."""

    def cause_of(self, resource: Resource) -> Cause:
        """Why ``resource`` is changed, when that is not clear: it is the first time in this life, or an event came.

        INITIAL when the journal does not know it, INTENT when its properties have changed since it was last applied, or
        a file that it `reads`; DRIFT when they have not: then the world did.
        """

    def owed_refreshes(self) -> Mapping[str, Collection[str]]:
        """The refs that owe a refresh from an earlier life, each with those whose changes it owes it for."""

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """``ref`` is about to be changed, and then ``subscribers`` owe a refresh. On disk when this returns."""

    def applied(self, resource: Resource) -> None:
        """``resource`` was found, or made, as its properties say."""

    def begins(self, ref: str) -> None:
        """A check of ``ref`` that carries a refresh begins."""

    def refreshed(self, ref: str) -> None:
        """That check succeeded: what ``ref`` owed when it began is paid; what was intended since stays owed."""

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
