"""What survives the process, as far as the engine is concerned. The journal provides it; a run may do without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from reactor.engine.events import Cause
from reactor.resource.base import Resource


class Memory(Protocol):
    """Told before and after what must not be forgotten; asked at the start."""

    def first_cause(self, resource: Resource) -> Cause:
        """Why a change made by the first check of ``resource`` is made.

        INITIAL when it is new to the journal, INTENT when its properties have changed since it was last applied,
        DRIFT when they have not: then the world changed while nobody looked.
        """

    def owed_refreshes(self) -> Iterable[str]:
        """The refs that owe a refresh from an earlier life."""

    async def intend(self, ref: str, subscribers: Sequence[str]) -> None:
        """``ref`` is about to be changed, and then ``subscribers`` owe a refresh. On disk when this returns."""

    def applied(self, resource: Resource) -> None:
        """``resource`` was found, or made, as its properties say."""

    def begins(self, ref: str) -> int:
        """A check of ``ref`` that carries a refresh begins. Returns a token for `refreshed`."""

    def refreshed(self, ref: str, token: int) -> None:
        """``ref`` paid the refreshes that it owed when the check began that got ``token``; later ones stay owed."""
