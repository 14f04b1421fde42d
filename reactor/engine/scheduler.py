"""The scheduler: who may run now, who waits for whom, what is owed. A state machine without I/O or clock.

It is told what happened (`mark`, `finished`, `elapsed`, `hold`, `release`) and asked who may run (`next_ready`) and
when to come back (`wake_at`). Its promises, each an invariant in ``tests/engine/test_scheduler_promises.py``:

1. Order: a vertex never starts while any ancestor is in motion.
2. One at a time: a vertex never runs twice at once.
3. No event is lost: a mark during a run leads to one more run.
4. No refresh is lost: it is owed until a run with it succeeded.
5. Failure is local: only strong descendants are blocked, and they go on when the culprit recovers.
6. It ends: without outside events, nothing stays in motion.
7. Work is local: what is not below a marked vertex is not touched.
8. Limits delay, never drop.

How order is kept without walking the graph: ``_waiting[v]`` counts the direct predecessors that are *unsettled*,
that is, in motion or themselves waiting. It is zero exactly when no ancestor is in motion. A vertex that becomes
unsettled tells its successors once, and once more when it settles, so a mark costs what lies below it and a
leaf costs nothing.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from reactor.engine.backoff import Backoff
from reactor.engine.events import Cause
from reactor.engine.limits import DEFAULT_LIMITS, UNLIMITED, Limits, Semaphores
from reactor.graph.topology import Topology

_CAUSES = tuple(Cause(bits) for bits in range(2 * max(cause.value for cause in Cause)))
"""Every set of causes, ready made: building one takes longer than a check of a small file."""

EAGER_WAIT = 0.1
EAGER_CAP = 5.0


class Outcome(Enum):
    """How a run ended, as far as others are concerned. CANCELLED is no answer: the vertex runs again."""

    OK = auto()
    CHANGED = auto()
    WOULD_CHANGE = auto()
    FAILED = auto()
    CANCELLED = auto()


@dataclass(slots=True)
class _Failing:
    """The history of a vertex that failed. ``eager`` paces what events trigger, ``patient`` what time does."""

    patient: Backoff
    eager: Backoff
    attempts: int = 0
    eager_at: float = 0.0


class Scheduler:
    """The state of every vertex of one graph.

    ``jobs`` bounds what runs at once. ``default_retry`` is for vertices whose limits name none. With ``fail_fast``
    nothing but retries starts while anything has failed. Times are seconds of any clock that never steps back.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        jobs: int,
        default_retry: int = UNLIMITED,
        fail_fast: bool = False,
        limits: Mapping[int, Limits] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        size = topology.size
        self.topology = topology
        self.jobs = jobs
        self.default_retry = default_retry
        self.fail_fast = fail_fast
        self.active = 0
        """How many vertices run now."""
        self.moving = 0
        """How many vertices are in motion: dirty or running, and not failed or blocked."""
        self.failed: set[int] = set()
        """Vertices whose last run failed."""
        self.blocked: set[int] = set()
        """Vertices that require something not ok."""
        self._limits = dict(limits or {})
        self._rng = rng or random.Random()  # noqa: S311 - jitter needs no secrecy
        self._semaphores = Semaphores()
        self._owed = bytearray(size)
        self._motion = bytearray(size)
        self._running: dict[int, int] = {}
        self._waiting = [0] * size
        self._bad_count = [0] * size
        self._bad = bytearray(size)
        self._ready: deque[int] = deque()
        self._stalled: list[int] = []
        self._start_at: dict[int, float] = {}
        self._retry_at: dict[int, float] = {}
        self._not_before: dict[int, float] = {}
        self._failing: dict[int, _Failing] = {}
        self._timers: list[tuple[float, int]] = []
        self._transitions: list[tuple[int, bool]] = []

    # ---- what happened ----

    def mark(self, vertex: int, cause: Cause, now: float, delay: float = 0.0) -> None:
        """Something about ``vertex`` may have changed: it owes a check, to start ``delay`` seconds from now."""
        self._owed[vertex] |= cause.value
        if vertex in self._running or vertex in self.blocked:
            return
        if cause is not Cause.RETRY and vertex in self.failed:
            self._failing[vertex].attempts = 0
        start = self._earliest(vertex, now + delay)
        if not self._motion[vertex]:
            self._begin_motion(vertex)
        elif self._start_at.get(vertex, now) <= start:
            return
        self._schedule(vertex, start, now)

    def hold(self, vertex: int) -> None:
        """Let ``vertex`` not start, nor anything below it, until `release`: its watch is not armed."""
        self._wait_more(vertex)

    def release(self, vertex: int) -> None:
        """Take one `hold` back."""
        self._wait_less(vertex)

    def next_ready(self, now: float) -> int | None:
        """The next vertex that may start, now counted as running; None when there is none."""
        while self._ready and self.active < self.jobs:
            vertex = self._ready.popleft()
            if not self._may_start(vertex):
                continue
            if self.fail_fast and self.failed and vertex not in self.failed:
                self._stalled.append(vertex)
                continue
            limits = self._limits.get(vertex, DEFAULT_LIMITS)
            if limits.semaphores and not self._semaphores.acquire(limits.semaphores, vertex):
                continue
            if limits.rate is not None:
                self._not_before[vertex] = now + 1 / limits.rate
            self._running[vertex] = self._owed[vertex]
            self._owed[vertex] = 0
            self._retry_at.pop(vertex, None)
            self.active += 1
            return vertex
        return None

    def finished(self, vertex: int, outcome: Outcome, now: float) -> float | None:
        """The run of ``vertex`` ended. Returns the seconds until it is retried, or None when it is not."""
        carried = self._running.pop(vertex)
        self.active -= 1
        limits = self._limits.get(vertex, DEFAULT_LIMITS)
        if limits.semaphores:
            self._ready.extend(self._semaphores.release(limits.semaphores))
        again = self._owed[vertex]
        wait = None
        if outcome is Outcome.FAILED:
            self._owed[vertex] |= carried
            wait = self._fail(vertex, now, fresh=bool(again))
        elif outcome is Outcome.CANCELLED:
            self._owed[vertex] |= carried
            again |= carried
        else:
            self._succeed(vertex)
            self._notify(vertex, outcome, now)
        if self._bad_count[vertex]:
            self._block(vertex)
        elif again:
            self._schedule(vertex, self._earliest(vertex, now), now)
        else:
            self._end_motion(vertex)
        return wait

    def elapsed(self, now: float) -> None:
        """The clock says ``now``: start what waited for it, retry what failed long enough ago."""
        timers = self._timers
        while timers and timers[0][0] <= now:
            _, vertex = heapq.heappop(timers)
            if self._start_at.get(vertex, now + 1) <= now:
                del self._start_at[vertex]
                if not self._waiting[vertex]:
                    self._ready.append(vertex)
            if self._retry_at.get(vertex, now + 1) <= now:
                del self._retry_at[vertex]
                self.mark(vertex, Cause.RETRY, now)

    # ---- what to do ----

    def wake_at(self) -> float:
        """When `elapsed` is to be called next; infinity when no timer runs."""
        return self._timers[0][0] if self._timers else float("inf")

    @property
    def has_ready(self) -> bool:
        """Whether `next_ready` is worth asking."""
        return bool(self._ready) and self.active < self.jobs

    @property
    def exhausted(self) -> bool:
        """Whether nothing will happen any more without a new mark (ask after `next_ready` said None)."""
        return not (self.active or self._start_at or self._retry_at or self.has_ready)

    @property
    def converged(self) -> bool:
        """Whether nothing is in motion, and nothing failed or is blocked."""
        return not (self.moving or self.failed or self.blocked)

    def causes(self, vertex: int) -> Cause:
        """Why ``vertex`` runs, or is owed a run."""
        return _CAUSES[self._running.get(vertex, self._owed[vertex])]

    def in_motion(self, vertex: int) -> bool:
        """Whether ``vertex`` is dirty or running."""
        return bool(self._motion[vertex])

    def is_running(self, vertex: int) -> bool:
        """Whether ``vertex`` runs now."""
        return vertex in self._running

    def take_transitions(self) -> list[tuple[int, bool]]:
        """The vertices that became blocked (True) or free again (False) since the last call, in order."""
        taken, self._transitions = self._transitions, []
        return taken

    def culprits(self, vertex: int) -> list[int]:
        """The failed vertices at the root of why ``vertex`` is blocked, in order."""
        roots: set[int] = set()
        seen = {vertex}
        stack = [vertex]
        while stack:
            for up in self.topology.strong_predecessors[stack.pop()]:
                if not self._bad[up] or up in seen:
                    continue
                seen.add(up)
                if up in self.blocked:
                    stack.append(up)
                else:
                    roots.add(up)
        return sorted(roots)

    # ---- starting ----

    def _may_start(self, vertex: int) -> bool:
        return (
            bool(self._motion[vertex])
            and not self._waiting[vertex]
            and vertex not in self._running
            and vertex not in self._start_at
        )

    def _earliest(self, vertex: int, start: float) -> float:
        """Limits delay: a rate for every start, a pause after a failure."""
        if vertex in self._not_before:
            start = max(start, self._not_before[vertex])
        if vertex in self.failed:
            start = max(start, self._failing[vertex].eager_at)
        return start

    def _schedule(self, vertex: int, start: float, now: float) -> None:
        if start > now:
            self._start_at[vertex] = start
            heapq.heappush(self._timers, (start, vertex))
            return
        self._start_at.pop(vertex, None)
        if not self._waiting[vertex]:
            self._ready.append(vertex)

    # ---- order: who is unsettled ----

    def _begin_motion(self, vertex: int) -> None:
        self._motion[vertex] = 1
        self.moving += 1
        if not self._waiting[vertex]:
            self._unsettle(vertex)

    def _end_motion(self, vertex: int) -> None:
        self._motion[vertex] = 0
        self.moving -= 1
        if not self._waiting[vertex]:
            self._settle(vertex)

    def _wait_more(self, vertex: int) -> None:
        self._waiting[vertex] += 1
        if self._waiting[vertex] == 1 and not self._motion[vertex]:
            self._unsettle(vertex)

    def _wait_less(self, vertex: int) -> None:
        if self._one_less(vertex):
            self._settle(vertex)

    def _unsettle(self, vertex: int) -> None:
        """``vertex`` is no longer settled: those below wait for it."""
        waiting, motion, successors = self._waiting, self._motion, self.topology.successors
        stack = [vertex]
        while stack:
            for below in successors[stack.pop()]:
                waiting[below] += 1
                if waiting[below] == 1 and not motion[below]:
                    stack.append(below)

    def _settle(self, vertex: int) -> None:
        """``vertex`` is settled: those below wait for one less, and may be ready, blocked or settled by it."""
        successors = self.topology.successors
        stack = [vertex]
        while stack:
            stack += [below for below in successors[stack.pop()] if self._one_less(below)]

    def _one_less(self, vertex: int) -> bool:
        """``vertex`` waits for one less. Returns whether that settled it."""
        self._waiting[vertex] -= 1
        if self._waiting[vertex]:
            return False
        if not self._motion[vertex]:
            return True
        if vertex in self._running:
            return False
        if self._bad_count[vertex]:
            self._motion[vertex] = 0
            self.moving -= 1
            self._start_at.pop(vertex, None)
            self._become_blocked(vertex)
            return True
        if vertex not in self._start_at:
            self._ready.append(vertex)
        return False

    # ---- failure: who is bad ----

    def _fail(self, vertex: int, now: float, *, fresh: bool) -> float | None:
        limits = self._limits.get(vertex, DEFAULT_LIMITS)
        failing = self._failing.get(vertex)
        if failing is None:
            failing = self._failing[vertex] = _Failing(
                Backoff(limits.delay, rng=self._rng), Backoff(EAGER_WAIT, EAGER_CAP, rng=self._rng)
            )
        self.failed.add(vertex)
        self._worsen(vertex)
        failing.eager_at = now + failing.eager.next_wait(now)
        failing.attempts = 1 if fresh else failing.attempts + 1
        retry = self.default_retry if limits.retry is None else limits.retry
        if retry != UNLIMITED and failing.attempts > retry:
            self._retry_at.pop(vertex, None)
            return None
        wait = failing.patient.next_wait(now)
        self._retry_at[vertex] = now + wait
        heapq.heappush(self._timers, (now + wait, vertex))
        return wait

    def _succeed(self, vertex: int) -> None:
        if vertex not in self.failed:
            return
        self.failed.discard(vertex)
        self._retry_at.pop(vertex, None)
        self._failing[vertex].attempts = 0
        self._improve(vertex)
        if not self.failed:
            self._ready.extend(self._stalled)
            self._stalled.clear()

    def _block(self, vertex: int) -> None:
        """A requirement failed while ``vertex`` ran: what it owes waits."""
        self._become_blocked(vertex)
        self._end_motion(vertex)

    def _become_blocked(self, vertex: int) -> None:
        self.blocked.add(vertex)
        self._transitions.append((vertex, True))
        self._worsen(vertex)

    def _worsen(self, vertex: int) -> None:
        """``vertex`` has failed or is blocked: those that need it are blocked, if they rest."""
        if self._bad[vertex]:
            return
        self._bad[vertex] = 1
        stack = [vertex]
        while stack:
            for below in self.topology.strong[stack.pop()]:
                self._bad_count[below] += 1
                if self._bad_count[below] > 1 or self._motion[below] or below in self.blocked:
                    continue
                self.blocked.add(below)
                self._transitions.append((below, True))
                if not self._bad[below]:
                    self._bad[below] = 1
                    stack.append(below)

    def _improve(self, vertex: int) -> None:
        """``vertex`` is ok again: those that only waited for it are free, and pay what they owe."""
        self._bad[vertex] = 0
        stack = [vertex]
        while stack:
            for below in self.topology.strong[stack.pop()]:
                self._bad_count[below] -= 1
                if self._bad_count[below] or below not in self.blocked:
                    continue
                self.blocked.discard(below)
                self._transitions.append((below, False))
                if self._owed[below]:
                    self._begin_motion(below)
                if below not in self.failed:
                    self._bad[below] = 0
                    stack.append(below)

    # ---- refresh ----

    def _notify(self, vertex: int, outcome: Outcome, now: float) -> None:
        """What subscribes owes a refresh; a change that was only planned reaches only what is in noop too."""
        if outcome is Outcome.OK:
            return
        for below in self.topology.notify[vertex]:
            if outcome is Outcome.CHANGED or self._limits.get(below, DEFAULT_LIMITS).noop:
                self.mark(below, Cause.REFRESH, now)
