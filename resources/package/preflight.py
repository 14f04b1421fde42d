"""What a rehearsal tells of the packages that would be changed along: asked for many of them in one simulation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import trio

from reactor import ResourceError
from reactor.resources.package.planner import Desired
from reactor.resources.package.transaction import Others, beginning

Simulate = Callable[[Mapping[str, Desired]], Awaitable[Others]]
"""Simulates the one transaction that makes wishes true, by the names of their packages. Raises ResourceError."""


class Preflight:
    """Gathers the wishes of those who wait for ``lock``: who gets it asks for all of them."""

    def __init__(self, simulate: Simulate, lock: trio.Lock) -> None:
        self._simulate = simulate
        self._lock = lock
        self._waiting: dict[Desired, None] = {}
        self._answers: dict[Desired, str | ResourceError] = {}

    async def tell(self, desired: Desired) -> str:
        """What else would change, as the end of a sentence. Raises ResourceError when the transaction would be refused."""
        self._waiting[desired] = None
        async with self._lock:
            if desired in self._waiting:
                await self._answer([each for each in self._waiting if _goes_with(each, desired)])
            answer = self._answers[desired]
        if isinstance(answer, ResourceError):
            raise answer
        return answer

    async def _answer(self, all_desired: list[Desired]) -> None:
        """Of a transaction that would be refused as a whole, each is asked for by itself: so a run would find the culprit."""
        for desired in all_desired:
            del self._waiting[desired]
        try:
            others = await self._simulate({desired.name: desired for desired in all_desired})
        except ResourceError as refusal:
            if len(all_desired) == 1:
                self._answers[all_desired[0]] = refusal
                return
            for desired in all_desired:
                self._waiting[desired] = None
                await self._answer([desired])
            return
        for desired in all_desired:
            companions = [each.name for each in all_desired if each is not desired]
            self._answers[desired] = others.told(beginning(companions, would=True))


def _goes_with(one: Desired, other: Desired) -> bool:
    """Whether one transaction would be for both: what is to go leaves in another."""
    return one.transaction == other.transaction
