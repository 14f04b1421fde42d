"""The places of those who are connected: a few, and nobody can keep all of them.

Each takes an open file, and repairs need some too. When all are taken, the newcomer gets the place of one who waits for
nothing: first of those who have not shown that they may ask, of the peer that has most of them, the oldest.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import trio

from reactor.control.peer import Peer

FIRST = 5.0
"""Seconds from the connection to the end of the head of its first request."""

IDLE = 30.0
"""Seconds that one who may ask may let pass without a request."""

PATIENCE = 60.0
"""Seconds that a request may take from its head to when the client has taken the answer."""


@dataclass(eq=False, slots=True)
class ConnectionSlot:
    """The place of one connection. ``admitted``: its client has shown that it may ask."""

    peer: Peer
    admitted: bool
    since: float = field(default_factory=trio.current_time)
    busy: bool = False
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    def __post_init__(self) -> None:
        self.scope.deadline = self.since + FIRST

    def rest(self) -> None:
        """A request has been answered, and another may come."""
        self.busy = False
        self.scope.deadline = trio.current_time() + IDLE

    def work(self) -> None:
        """A request has come."""
        self.busy = True
        self.scope.deadline = trio.current_time() + PATIENCE

    def stay(self) -> None:
        """The answer may last."""
        self.scope.deadline = math.inf

    def leave(self) -> None:
        """End the connection at once."""
        self.scope.cancel()


class ConnectionSlots:
    """At most ``most`` places."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: set[ConnectionSlot] = set()
        self._freed = trio.Event()

    async def take_in_turn(self, peer: Peer, admitted: bool) -> ConnectionSlot:
        """A place for a newcomer, as soon as there is one: all may be needed for a moment by those who may ask."""
        while (place := self.take(peer, admitted=admitted)) is None:
            self._freed = trio.Event()
            await self._freed.wait()
        return place

    def take(self, peer: Peer, *, admitted: bool) -> ConnectionSlot | None:
        """A place for a newcomer; None when all are needed."""
        if len(self._taken) >= self._most:
            if (found := self._slot_to_close()) is None:
                return None
            self.give_back(found)
            found.leave()
        place = ConnectionSlot(peer, admitted)
        self._taken.add(place)
        return place

    def give_back(self, place: ConnectionSlot) -> None:
        """Its connection is over."""
        self._taken.discard(place)
        self._freed.set()

    def _slot_to_close(self) -> ConnectionSlot | None:
        found = [place for place in self._taken if not (place.admitted and place.busy)]
        held = Counter(place.peer for place in found if not place.admitted)
        return min(
            found,
            key=lambda place: (place.admitted, -held[place.peer], place.busy, place.since),
            default=None,
        )
