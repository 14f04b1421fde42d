"""Which vertices are active (dirty or running), which must wait for those, and which one starts next.

`Readiness.waiting` counts, for each vertex, the direct predecessors that are *unsettled*: active, or themselves
waiting. It is zero exactly when no ancestor is active, so the order is kept without ever walking up the graph. A
vertex notifies its successors once when it becomes unsettled, and once more when it settles: the cost of a mark
depends only on what is below the vertex.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence, Sized
from itertools import compress, count

from reactor.graph.topology import Adjacency

_MOST_URGENT = 8
"""How many vertices that drifted are taken in a row while others are ready."""


class Readiness:
    """The state of every vertex: active or idle, and whether it waits.

    ``cleared`` is called when the last predecessor of an active vertex has settled. It returns whether the vertex
    stops being active, because it is blocked.
    """

    def __init__(self, successors: Adjacency, cleared: Callable[[int], bool]) -> None:
        self._cleared = cleared
        self._successors = successors
        self._holds: dict[int, int] = {}
        self.active = bytearray(len(successors))
        """1 for a vertex that is dirty or running, and neither failed nor blocked."""
        self.waiting = [0] * len(successors)
        self.active_count = 0
        """How many vertices are active."""

    def begin(self, vertex: int) -> None:
        """``vertex``, which was idle, becomes active."""
        self.active[vertex] = 1
        self.active_count += 1
        if self._successors[vertex] and not self.waiting[vertex]:
            self._unsettle(vertex)

    def begin_each(self, vertices: Iterable[int]) -> list[int]:
        """As `begin` of those of ``vertices`` that are idle. Return these."""
        active, waiting, successors = self.active, self.waiting, self._successors
        idle = [vertex for vertex in vertices if not active[vertex]]
        self.active_count += len(idle)
        for vertex in idle:
            active[vertex] = 1
            if successors[vertex] and not waiting[vertex]:
                self._unsettle(vertex)
        return idle

    def begin_all(self, indegree: Sequence[int]) -> None:
        """Every vertex becomes active, when none was: each waits for all its predecessors and its holds."""
        self.active = bytearray(b"\1" * len(indegree))
        self.active_count = len(indegree)
        self.waiting = list(indegree)
        for vertex, holds in self._holds.items():
            self.waiting[vertex] += holds

    def end(self, vertex: int) -> None:
        """``vertex`` is idle again."""
        self.active[vertex] = 0
        self.active_count -= 1
        if self._successors[vertex] and not self.waiting[vertex]:
            self._settle(vertex)

    def end_each(self, vertices: Sequence[int]) -> None:
        """As `end` of each."""
        active, waiting, successors = self.active, self.waiting, self._successors
        self.active_count -= len(vertices)
        for vertex in vertices:
            active[vertex] = 0
            if successors[vertex] and not waiting[vertex]:
                self._settle(vertex)

    def active_vertices(self) -> Iterable[int]:
        """The active vertices, in order. Costs little where few of many are active."""
        return compress(count(), self.active)

    @property
    def is_held(self) -> bool:
        """Whether any vertex waits for its `release`."""
        return bool(self._holds)

    def hold(self, vertex: int) -> None:
        """Make ``vertex`` and everything below it wait until `release`; holds are counted."""
        self._holds[vertex] = self._holds.get(vertex, 0) + 1
        self.waiting[vertex] += 1
        if self.waiting[vertex] == 1 and not self.active[vertex]:
            self._unsettle(vertex)

    def release(self, vertex: int) -> None:
        """Undo one `hold`."""
        self._holds[vertex] -= 1
        if not self._holds[vertex]:
            del self._holds[vertex]
            if not self._holds:
                self._holds = {}  # emptied, it would still take the memory of all that it held
        if self._one_less(vertex):
            self._settle(vertex)

    def reshape(self, successors: Adjacency, resting: set[int]) -> None:
        """Switch to other edges over the same vertex numbers, of which there may be more.

        Vertices in ``resting`` become idle. Does not call ``cleared``: the caller tests every active vertex
        afterwards.
        """
        moving = [vertex for vertex in self.active_vertices() if vertex not in resting]
        holds, self._holds = self._holds, {}
        self._successors = successors
        self.active = bytearray(len(successors))
        self.waiting = [0] * len(successors)
        self.active_count = 0
        for vertex, number in holds.items():
            for _ in range(number):
                self.hold(vertex)
        for vertex in moving:
            self.begin(vertex)

    def _unsettle(self, vertex: int) -> None:
        """``vertex`` is no longer settled: the vertices below wait for it."""
        waiting, active, successors = self.waiting, self.active, self._successors
        stack = [vertex]
        while stack:
            for below in successors[stack.pop()]:
                waiting[below] += 1
                if waiting[below] == 1 and not active[below]:
                    stack.append(below)

    def _settle(self, vertex: int) -> None:
        """``vertex`` is settled: the vertices below wait for one less, and may become ready, blocked or settled."""
        successors = self._successors
        stack = [vertex]
        while stack:
            stack += [below for below in successors[stack.pop()] if self._one_less(below)]

    def _one_less(self, vertex: int) -> bool:
        """``vertex`` waits for one predecessor less. Return whether that settled it."""
        self.waiting[vertex] -= 1
        if self.waiting[vertex]:
            return False
        if not self.active[vertex]:
            return True
        if self._cleared(vertex):
            self.active[vertex] = 0
            self.active_count -= 1
            return True
        return False


class ReadyQueue:
    """The ready vertices, first come, first served, with two exceptions.

    Vertices that drifted go before the others, at most `_MOST_URGENT` in a row. While all jobs are in use, vertices that need
    none overtake those that do: ``needs_job`` has a byte for each vertex. The queue may hold a vertex several times, or one that
    may no longer start: the scheduler checks that.
    """

    def __init__(self, needs_job: Sequence[int]) -> None:
        self._needs_job = needs_job
        self._usual: deque[int] = deque()
        self._overtaken: deque[int] = deque()
        self._urgent: dict[int, None] = {}
        self._urgent_without_job: dict[int, None] = {}
        self._urgent_in_a_row = 0
        self.append = self._usual.append
        self.extend = self._usual.extend

    def __bool__(self) -> bool:
        return bool(self._usual or self._urgent or self._urgent_without_job or self._overtaken)

    @property
    def may_overtake(self) -> bool:
        """Whether `take_without_job` may return a vertex."""
        return bool(self._usual or self._urgent_without_job)

    def hasten(self, vertex: int) -> None:
        """Let ``vertex``, which drifted while all jobs are in use, go before those of a pass over many."""
        (self._urgent if self._needs_job[vertex] else self._urgent_without_job)[vertex] = None

    def take(self) -> int | None:
        """The next vertex where there is a job for it; None if there is none."""
        others = self._overtaken or self._usual
        if (vertex := self._take_urgent(self._urgent_without_job or self._urgent, others)) is not None:
            return vertex
        return others.popleft() if others else None

    def take_without_job(self) -> int | None:
        """The next vertex that needs no job; None if there is none."""
        usual, needs_job = self._usual, self._needs_job
        if (vertex := self._take_urgent(self._urgent_without_job, usual)) is not None:
            return vertex
        while usual:
            if not needs_job[vertex := usual.popleft()]:
                return vertex
            self._overtaken.append(vertex)
        return self._take_urgent(self._urgent_without_job, usual)

    def _take_urgent(self, urgent: dict[int, None], others: Sized) -> int | None:
        if urgent and (not others or self._urgent_in_a_row < _MOST_URGENT):
            self._urgent_in_a_row += 1
            del urgent[vertex := next(iter(urgent))]
            return vertex
        self._urgent_in_a_row = 0
        return None

    def first(self, active: Sequence[int]) -> int | None:
        """The next vertex of those that have not drifted, which stays; drops those before it that are not ``active``."""
        others = self._overtaken or self._usual
        while others and not active[others[0]]:
            others.popleft()
        return others[0] if others else None

    def clear(self) -> None:
        """Drop all."""
        for each in (self._usual, self._overtaken, self._urgent, self._urgent_without_job):
            each.clear()
