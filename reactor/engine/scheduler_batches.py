"""The part of the scheduler that treats many vertices at once, each as the scheduler treats one, and much faster."""

from __future__ import annotations

from collections.abc import Collection

from reactor.engine.admission import Members
from reactor.engine.events import CAUSE_SETS, Cause
from reactor.engine.readiness import ReadyQueue
from reactor.engine.refreshes import RefreshDebouncer, Refreshes
from reactor.engine.scheduler_status import SchedulerStatus
from reactor.graph.topology import Topology

_LOOK = int(Cause.INITIAL | Cause.INTENT | Cause.DRIFT | Cause.AUDIT)
"""The causes of a check that does nothing if the resource is as desired."""
_MORE = frozenset(bits for bits in range(1 << len(Cause)) if bits & ~_LOOK)
"""All other sets of causes."""


class SchedulerBatches(SchedulerStatus):
    """Marks many vertices, and ends those of a group that are as desired. `Scheduler` has the state."""

    refreshes: Refreshes
    debouncer: RefreshDebouncer
    running_causes: dict[int, int]
    topology: Topology
    _due_causes: bytearray
    _ready: ReadyQueue

    @property
    def _has_room(self) -> bool:
        raise NotImplementedError

    def _hasten(self, vertex: int, cause: Cause) -> None:
        raise NotImplementedError

    def mark(self, vertex: int, cause: Cause, now: float, delay: float = 0.0) -> None:
        """Something may have changed ``vertex``: a check is due, which starts ``delay`` seconds from now."""
        raise NotImplementedError

    def mark_all(self, cause: Cause) -> None:
        """Mark every vertex at the start, when none is marked. Does the same as a `mark` of each, and much faster."""
        self._due_causes = bytearray(bytes((cause,)) * self.topology.size)
        self.order.begin_all(self.topology.indegree)
        self._ready.extend(v for v, waiting in enumerate(self.order.waiting) if not waiting)

    def mark_each(self, vertices: Collection[int], cause: Cause, now: float) -> None:
        """As `mark` of each of ``vertices``, which differ; much faster while none has failed and none is delayed."""
        if self._delays or self.blocking.failed:
            for vertex in vertices:
                self.mark(vertex, cause, now)
            return
        due, bits = self._due_causes, int(cause)
        for vertex in vertices:
            due[vertex] |= bits
        begun = self.order.begin_each(vertices)
        waiting = self.order.waiting
        self._ready.extend([vertex for vertex in begun if not waiting[vertex]])
        for vertex in () if self._has_room else vertices:
            if vertex not in self.running_causes:
                self._hasten(vertex, cause)

    def next_group(self) -> Members | None:
        """All of the group of the next vertex that may start now, for `ended_as_desired`. Starts none.

        None unless there are several, all due only for the `_LOOK`, and nothing but their ends would follow.
        """
        first = self._ready.first(self.order.active)
        if first is None or self.batches.followers or not self._has_room or not self._is_plain:
            return None
        group = self.batches.idle_group_of(first)
        if group is None or (members := self._startable(group)) is None:
            return None
        if self.running_causes and not self.running_causes.keys().isdisjoint(members):
            return None
        return members if _MORE.isdisjoint(members.of(self._due_causes)) else None

    def _startable(self, group: Members) -> Members | None:
        """Those of ``group`` that are active and need not wait; None unless there are several."""
        active, waiting = self.order.active, self.order.waiting
        if all(group.of(active)) and not any(group.of(waiting)):
            return group
        found = [vertex for vertex in group if active[vertex] and not waiting[vertex]]
        return Members(found) if found[1:] else None

    def ended_as_desired(self, members: Members) -> list[Cause]:
        """``members``, as `next_group` has returned them, are as desired. Return why each was due.

        As if each had started and finished with OK.
        """
        due = self._due_causes
        causes = list(map(CAUSE_SETS.__getitem__, members.of(due)))
        for vertex in members:
            due[vertex] = 0
        self.order.end_each(members)
        return causes

    @property
    def _is_plain(self) -> bool:
        """Whether an active vertex that need not wait may start, apart from its group, and its success affects no other."""
        delays = self._delays or self._paused or self.debouncer.pending or self._retries.due
        return not (delays or self.blocking.failed or self.refreshes.is_pending)

    @property
    def _delays(self) -> bool:
        return bool(self.delay_queue.start_at or self.delay_queue.slowed)
