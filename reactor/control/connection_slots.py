"""A limited number of slots for connections; no single client can take them all.

Each connection takes an open file, and repairs need open files too. If all slots are taken, a new connection gets the
slot of an idle connection: first of an unauthenticated one, then of the peer with the most connections, then of the
oldest one.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import trio

from reactor.control.peer import Peer

FIRST = 5.0
"""Seconds from the connection until the head of its first request must be complete."""

IDLE = 30.0
"""Seconds that an authenticated client may be idle."""

TIMEOUT = 60.0
"""Seconds from the head of a request until the client must have read the answer."""


@dataclass(eq=False, slots=True)
class ConnectionSlot:
    """The slot of one connection. ``admitted`` says that its client is authenticated."""

    peer: Peer
    admitted: bool
    since: float = field(default_factory=trio.current_time)
    busy: bool = False
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    def __post_init__(self) -> None:
        self.scope.deadline = self.since + FIRST

    def rest(self) -> None:
        """The last request was answered: close the connection after `IDLE` seconds without a request."""
        self.busy = False
        self.scope.deadline = trio.current_time() + IDLE

    def work(self) -> None:
        """A request has arrived: close the connection if its answer is not read within `TIMEOUT` seconds."""
        self.busy = True
        self.scope.deadline = trio.current_time() + TIMEOUT

    def stay(self) -> None:
        """Allow the answer to take any time, as a stream does."""
        self.scope.deadline = math.inf

    def leave(self) -> None:
        """Close the connection at once."""
        self.scope.cancel()


class ConnectionSlots:
    """The slots of one listening socket, at most ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: set[ConnectionSlot] = set()
        self._freed = trio.Event()

    async def take_in_turn(self, peer: Peer, admitted: bool) -> ConnectionSlot:
        """A slot for a new connection. Waits until one is free: all may be in use for a moment."""
        while (place := self.take(peer, admitted=admitted)) is None:
            self._freed = trio.Event()
            await self._freed.wait()
        return place

    def take(self, peer: Peer, *, admitted: bool) -> ConnectionSlot | None:
        """A slot for a new connection; None if all are in use."""
        if len(self._taken) >= self._most:
            if (found := self._slot_to_close()) is None:
                return None
            self.give_back(found)
            found.leave()
        place = ConnectionSlot(peer, admitted)
        self._taken.add(place)
        return place

    def give_back(self, place: ConnectionSlot) -> None:
        """Free the slot of a closed connection."""
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
