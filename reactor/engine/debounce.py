"""Refreshes that are gathered: one for a burst of changes, once things have calmed down."""

from __future__ import annotations

from dataclasses import dataclass

from reactor.engine.events import Cause
from reactor.resource.subscription import RefreshDebounce

_REFRESH = int(Cause.REFRESH)
_AT_ONCE = int(Cause.INITIAL | Cause.INTENT)
"""The first check of a resource, or of another version of it, pays what is owed: all that it waits for has settled,
and nobody wants to wait for a first start."""


@dataclass(slots=True, eq=False, repr=False)
class _Burst:
    due: float
    latest: float


class RefreshDebouncer:
    """The bursts that are ``pending``, by vertex. Times are those of the scheduler."""

    def __init__(self) -> None:
        self.pending: dict[int, _Burst] = {}

    def add(self, vertex: int, quiet: RefreshDebounce | None, now: float) -> None:
        """Something that ``vertex`` subscribes to has changed: its burst begins, or lasts longer.

        Unless the refresh is made at once, for it is not ``quiet``, and with it all that was gathered.
        """
        if quiet is None:
            self.forget(vertex)
            return
        burst = self.pending.setdefault(vertex, _Burst(now, now + quiet.at_most))
        burst.due = min(burst.latest, now + quiet.calm)

    def due(self, vertex: int) -> float | None:
        """When the burst of ``vertex`` is over; None when there is none."""
        burst = self.pending.get(vertex)
        return None if burst is None else burst.due

    def deferred_causes(self, vertex: int, owed: int, now: float) -> int:
        """The part of the causes ``owed`` that a check which starts now leaves owed.

        If that is none, the burst lasts all the same until the check does start, and is forgotten then.
        """
        burst = self.pending.get(vertex)
        if burst is None or not owed & _REFRESH or burst.due <= now or owed & _AT_ONCE:
            return 0
        return _REFRESH

    def forget(self, vertex: int) -> None:
        """The refresh of ``vertex`` begins, or it has left the graph, or is another now."""
        self.pending.pop(vertex, None)
