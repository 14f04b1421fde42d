"""Which vertices have pending refreshes, and which refreshes wait for further changes.

Part of the scheduler: no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from reactor.engine.admission import Admission
from reactor.engine.events import Cause
from reactor.engine.outcome import Outcome
from reactor.graph.topology import Topology
from reactor.resource.common_properties import RefreshDebounce

_REFRESH = int(Cause.REFRESH)
_AT_ONCE = int(Cause.INITIAL | Cause.INTENT)
"""Causes that make pending refreshes at once: the first check of a resource, or of another version of it.

Everything that it waits for has settled, and a first start must not be delayed.
"""


@dataclass(slots=True, eq=False, repr=False)
class _Burst:
    due: float
    latest: float


class RefreshDebouncer:
    """The bursts that are ``pending``, by vertex. Times are on the scheduler's clock."""

    def __init__(self) -> None:
        self.pending: dict[int, _Burst] = {}

    def add(self, vertex: int, quiet: RefreshDebounce | None, now: float) -> None:
        """Something that ``vertex`` subscribes to has changed: begin or extend its burst.

        If ``quiet`` is None, the refresh is not delayed: drop the burst.
        """
        if quiet is None:
            self.forget(vertex)
            return
        burst = self.pending.setdefault(vertex, _Burst(now, now + quiet.at_most))
        burst.due = min(burst.latest, now + quiet.calm)

    def due(self, vertex: int) -> float | None:
        """When the burst of ``vertex`` ends; None if it has none."""
        burst = self.pending.get(vertex)
        return None if burst is None else burst.due

    def deferred_causes(self, vertex: int, due: int, now: float) -> int:
        """Those of the causes ``due`` that a check which starts now must leave for later.

        If this returns 0, the burst continues until the check really starts, which calls `forget`.
        """
        burst = self.pending.get(vertex)
        if burst is None or not due & _REFRESH or burst.due <= now or due & _AT_ONCE:
            return 0
        return _REFRESH

    def forget(self, vertex: int) -> None:
        """The refresh of ``vertex`` begins, or the vertex has left the graph or has another resource."""
        self.pending.pop(vertex, None)


_OK, _CHANGED = Outcome.OK, Outcome.CHANGED  # see its class


class Refreshes:
    """The refreshes to propagate. ``mark`` schedules a subscriber; ``debouncer`` may delay it."""

    def __init__(
        self,
        topology: Topology,
        admission: Admission,
        debouncer: RefreshDebouncer,
        mark: Callable[[int, Cause, float], None],
    ) -> None:
        self._topology = topology
        self._limits_of = admission.limits_of
        self._debouncer = debouncer
        self._mark = mark
        self.touched: set[int] = set()
        """The vertices whose runs began to change things: if one fails, its next success counts as a change."""
        self.unaffected: set[int] = set()
        """The composites whose members no run would change, as their last check in a dry run found."""
        self._from_previous_run: dict[int, set[int]] = {}

    @property
    def is_pending(self) -> bool:
        """Whether a success of some vertex must be propagated although it changes nothing."""
        return bool(self.touched or self._from_previous_run)

    def add_pending(self, vertex: int, below: int) -> None:
        """``below`` has a refresh pending from an earlier process: propagate it once ``vertex`` is as desired."""
        self._from_previous_run.setdefault(vertex, set()).add(below)

    def propagate(self, vertex: int, outcome: Outcome, now: float) -> None:
        """Schedule refreshes of the subscribers of ``vertex`` if it changed now or in an earlier, failed run.

        In noop, also if a real run would have changed it; one that no run changes refreshes only others of its sort.
        """
        if vertex in self.touched:
            self.touched.discard(vertex)
            outcome = _CHANGED
        from_previous_run = self._from_previous_run.pop(vertex, ())
        if outcome is _OK and not from_previous_run:
            return
        stays = outcome is not _CHANGED and self._stays(vertex)
        for below in self._topology.notify[vertex]:
            limits = self._limits_of(below)
            would = limits.noop and outcome is not _OK and (limits.is_read_only or not stays)
            if below in from_previous_run or outcome is _CHANGED or would:
                self._debouncer.add(below, self._topology.quiet.get((vertex, below), limits.quiet), now)
                self._mark(below, Cause.REFRESH, now)

    def _stays(self, vertex: int) -> bool:
        """Whether no run changes ``vertex``, or a member of this composite."""
        return vertex in self.unaffected or self._limits_of(vertex).is_read_only

    def reshape(self, topology: Topology, gone: Collection[int]) -> list[int]:
        """Switch to another graph, without ``gone``.

        Return the vertices whose refresh must now be made without waiting. These are the subscribers that waited for a
        vertex that has left, or to which they no longer subscribe.
        """
        self._topology = topology
        self.touched.difference_update(gone)
        self.unaffected.difference_update(gone)
        due: list[int] = []
        for vertex, from_previous_run in list(self._from_previous_run.items()):
            kept_below = from_previous_run.intersection(topology.notify[vertex])
            due += from_previous_run.difference(kept_below, gone)
            if kept_below:
                self._from_previous_run[vertex] = kept_below
            else:
                del self._from_previous_run[vertex]
        return due
