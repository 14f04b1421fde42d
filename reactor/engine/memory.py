"""What survives the process, as far as the engine is concerned. The journal provides it; a run may do without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from reactor.engine.events import Cause
from reactor.resource.base import Resource


class Memory(Protocol):
    """Told before and after what must not be forgotten; asked at the start."""

    def first_cause(self, resource: Resource) -> Cause:
        """Why the first change of ``resource`` in this life is made; asked only when there is one.

        INITIAL when the journal does not know it, INTENT when its properties have changed since it was last applied,
        DRIFT when they have not: then the world changed while nobody looked.
        """

    def owed_refreshes(self) -> Iterable[str]:
        """The refs that owe a refresh from an earlier life."""

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """``ref`` is about to be changed, and then ``subscribers`` owe a refresh. On disk when this returns."""

    def applied(self, resource: Resource) -> None:
        """``resource`` was found, or made, as its properties say."""

    def begins(self, ref: str) -> None:
        """A check of ``ref`` that carries a refresh begins."""

    def refreshed(self, ref: str) -> None:
        """That check succeeded: what ``ref`` owed when it began is paid; what was intended since stays owed."""
