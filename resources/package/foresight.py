"""What a rehearsal tells of the packages that would be changed along: asked for many of them in one simulation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import trio

from reactor import ResourceError
from resources.package.decision import Wish
from resources.package.transaction import Others, beginning

Simulate = Callable[[Mapping[str, Wish]], Awaitable[Others]]
"""Simulates the one transaction that makes wishes true, by the names of their packages. Raises ResourceError."""


class Foresight:
    """Gathers the wishes of those who wait for ``lock``: who gets it asks for all of them."""

    def __init__(self, simulate: Simulate, lock: trio.Lock) -> None:
        self._simulate = simulate
        self._lock = lock
        self._waiting: dict[Wish, None] = {}
        self._answers: dict[Wish, str | ResourceError] = {}

    async def tell(self, wish: Wish) -> str:
        """What else would change, as the end of a sentence. Raises ResourceError when the transaction would be refused."""
        self._waiting[wish] = None
        async with self._lock:
            if wish in self._waiting:
                await self._answer([each for each in self._waiting if _goes_with(each, wish)])
            answer = self._answers[wish]
        if isinstance(answer, ResourceError):
            raise answer
        return answer

    async def _answer(self, wishes: list[Wish]) -> None:
        """Of a transaction that would be refused as a whole, each is asked for by itself: so a run would find the culprit."""
        for wish in wishes:
            del self._waiting[wish]
        try:
            others = await self._simulate({wish.name: wish for wish in wishes})
        except ResourceError as refusal:
            if len(wishes) == 1:
                self._answers[wishes[0]] = refusal
                return
            for wish in wishes:
                self._waiting[wish] = None
                await self._answer([wish])
            return
        for wish in wishes:
            companions = [each.name for each in wishes if each is not wish]
            self._answers[wish] = others.told(beginning(companions, would=True))


def _goes_with(one: Wish, other: Wish) -> bool:
    """Whether one transaction would be for both: what is to go leaves in another."""
    return one.transaction == other.transaction
