"""The promises of the scheduler, stated from its design, beside an account of what happened that is the oracle's own.

It is told what the scheduler was told and what it did, and raises `BreachError` when that breaks a promise.
"""

from __future__ import annotations

from scheduler_world import (
    AUDIT,
    DRIFT,
    INITIAL,
    INTENT,
    REFRESH,
    BreachError,
    Debounce,
    Rules,
    Shape,
    bits,
)

LONGEST_RETRY = 300.0 * 1.1
EVENT_PACE = (0.1 * 0.89, 5.0 * 1.11)
"""A failed vertex is checked for an event at most ten times a second, and at the latest so many seconds after."""
NEVER = float("inf")


class Vertex:
    """What one vertex owes, and since when."""

    def __init__(self) -> None:
        self.begin_anew()
        self.unseen = 0
        self.refresh = False
        self.changed_halfway = False
        self.owed_below: set[int] = set()
        self.again = False
        self.stirred = False
        self.burst: tuple[float, float] | None = None
        self.check_at = self.refresh_at = NEVER
        self.carried = 0

    def begin_anew(self) -> None:
        """It is new or was edited: nothing slows it down, and it has all its attempts."""
        self.not_before = self.paced_until = -NEVER
        self.retry_at: float | None = None
        self.failed_at = -NEVER
        self.failures = 0
        self.retries = 0
        self.burst = None
        self.was_freed = False


class Oracle:
    """Follows one life. Vertices are numbers, sets of them bits; times are seconds of the life's clock."""

    def __init__(self, shape: Shape, rules: list[Rules], jobs: int, *, fail_fast: bool) -> None:
        self.shape = shape
        self.rules = rules
        self.jobs = jobs
        self.fail_fast = fail_fast
        self.now = 0.0
        self.vertices = [Vertex() for _ in range(shape.size)]
        self.running = self.failed = self.paused = self.held = self.lent = 0
        self.batches: dict[str, int] = {}
        """The members of each group's party that still run."""
        self.taken: dict[str, int] = {}
        self.holding: dict[int, tuple[str, ...]] = {}
        self.party_of: dict[int, str] = {}
        self.told_blocked = 0

    # ---- what happened ----

    def event(self, vertex: int, cause: int, delay: float = 0.0) -> None:
        """Something may have changed at ``vertex``, which owes a check for that, ``delay`` seconds from now."""
        each = self.vertices[vertex]
        each.unseen |= cause
        if not self.running >> vertex & 1:
            each.stirred = True
            each.retries = each.failures = 0
        if cause & REFRESH:
            each.refresh = True
            each.refresh_at = min(each.refresh_at, self.now + delay)
        if cause & ~REFRESH:
            each.check_at = min(each.check_at, self.now + delay)

    def owe_refresh(self, source: int, below: int) -> None:
        """``below`` owes a refresh for ``source`` from an earlier life, once that is as desired."""
        self.vertices[source].owed_below.add(below)

    def started(self, vertex: int, causes: int, followers: list[int]) -> None:
        """``vertex`` starts for ``causes``, and with it ``followers`` of its group."""
        if len(self._jobs_taken()) >= self.jobs:
            raise BreachError("limits: more run at once than jobs")
        batch = 1 << vertex
        for each in followers:
            batch |= 1 << each
        group = self.rules[vertex].group
        if followers and any(self.rules[each].group != group for each in followers):
            raise BreachError("groups: who runs together is of one group")
        if group is not None:
            if self.batches.get(group):
                raise BreachError("groups: two parties of one group at once")
            self.batches[group] = batch
            for each in (vertex, *followers):
                self.party_of[each] = group
        self._starts(vertex, causes, batch)

    def follows(self, vertex: int, causes: int) -> None:
        """``vertex`` starts as one of the party that was told of last."""
        self._starts(vertex, causes, self.batches[self.party_of[vertex]])

    def _starts(self, vertex: int, causes: int, batch: int) -> None:
        each, bit = self.vertices[vertex], 1 << vertex
        self._may_start(vertex, each, bit, batch)
        gathers = self._gathers(vertex, each) and not causes & (INITIAL | INTENT)
        self._knows_its_causes(each, causes, gathers=gathers)
        only_retry = not (each.unseen or each.refresh or each.again or each.was_freed)
        if only_retry:
            each.retries += 1
            if 0 <= self.rules[vertex].retry < each.retries:
                raise BreachError("failure: more retries than allowed")
            if each.retry_at is None or self.now < each.retry_at:
                raise BreachError("work is local: it started and owed nothing")
        self._take_limits(vertex, each)
        each.unseen &= REFRESH if gathers else 0
        each.carried = causes
        each.check_at = NEVER
        if causes & REFRESH:
            each.refresh, each.burst, each.refresh_at = False, None, NEVER
        each.again = each.stirred = each.was_freed = False
        each.stirred = gathers
        each.retry_at = each.retry_at if each.retry_at is not None and self.now < each.retry_at else None
        self.running |= bit

    def _may_start(self, vertex: int, each: Vertex, bit: int, batch: int) -> None:
        shape = self.shape
        if self.running & bit:
            raise BreachError("one at a time: it runs already")
        if not shape.present & bit:
            raise BreachError("reload: what left the graph starts")
        if (self.held | self.paused) & bit or self.held & shape.before[vertex]:
            raise BreachError("held or paused, and starts")
        self._is_its_turn(vertex, batch)
        if self._fail_fast_holds(vertex):
            raise BreachError("fail_fast: something has failed that has nothing to do with it")
        if self.failed & bit and not each.was_freed and self.now < each.failed_at + EVENT_PACE[0]:
            raise BreachError("failure: a failed vertex is checked more than ten times a second")

    def _is_its_turn(self, vertex: int, batch: int) -> None:
        shape = self.shape
        if shape.before[vertex] & (self.running | batch):
            raise BreachError("order: an ancestor runs")
        for other in bits(shape.before[vertex] & shape.present):
            if self._surely_owes(other) and not self._rests(other):
                raise BreachError(f"order: its ancestor {other} owes a check")
        if shape.blockers[vertex] & self.failed:
            raise BreachError("failure: it starts below a failure")

    def _knows_its_causes(self, each: Vertex, causes: int, *, gathers: bool) -> None:
        missing = each.unseen & ~causes & ~(REFRESH if gathers else 0)
        if missing:
            raise BreachError(f"no event is lost: the check does not know {missing:b}")
        if not causes:
            raise BreachError("work is local: a check without a cause")
        if each.refresh and not gathers and not causes & REFRESH:
            raise BreachError("no refresh is lost: the check comes without it")
        if causes & REFRESH and gathers:
            raise BreachError("limits: a burst is refreshed before it is over")
        if causes & REFRESH and not each.refresh:
            raise BreachError("refresh: one that is not owed")

    def _take_limits(self, vertex: int, each: Vertex) -> None:
        rules = self.rules[vertex]
        if self.now < each.not_before - 1e-9:
            raise BreachError("limits: it starts sooner than its rate allows")
        if self.now < each.paced_until - 1e-9:
            raise BreachError("fights: it is repaired sooner than its pace allows")
        for name in set(rules.semaphores):
            if self.taken.get(name, 0) >= rules.capacity(name):
                raise BreachError(f"limits: semaphore {name} is taken")
            self.taken[name] = self.taken.get(name, 0) + 1
        self.holding[vertex] = rules.semaphores
        if rules.rate is not None:
            each.not_before = max(each.not_before, self.now + 1 / rules.rate)

    def finished(self, vertex: int, outcome: str, wait: float | None) -> None:
        """The run of ``vertex`` ended; ``wait`` is when it is retried, if the scheduler said so."""
        each, bit = self.vertices[vertex], 1 << vertex
        self.running &= ~bit
        self.lent &= ~bit
        for name in set(self.holding.pop(vertex)):
            self.taken[name] -= 1
        if (group := self.party_of.pop(vertex, None)) is not None:
            self.batches[group] &= ~bit
        if not self.shape.present & bit:
            return
        if outcome in ("failed", "unhealthy"):
            self._fails(vertex, each, outcome, wait)
            return
        if wait is not None:
            raise BreachError("failure: a retry of what did not fail")
        if outcome == "cancelled":
            each.again = True
            if each.carried & REFRESH:
                each.refresh, each.refresh_at = True, self.now
            if each.carried & ~REFRESH:
                each.check_at = self.now
            return
        if self.failed & bit:
            self.failed &= ~bit
            each.retry_at, each.failures, each.retries = None, 0, 0
            self._free_below(bit)
        self._tell(vertex, outcome)

    def _fails(self, vertex: int, each: Vertex, outcome: str, wait: float | None) -> None:
        was_new = bool(each.unseen & ~DRIFT)
        each.failures = 1 if was_new else each.failures + 1
        each.retries = 0 if was_new else each.retries
        if not was_new and each.failures > 1:  # drift that came meanwhile has its answer in the retry
            each.check_at = NEVER
        allowed = self.rules[vertex].retry
        self.failed |= 1 << vertex
        each.failed_at = self.now
        each.retry_at = None if wait is None else self.now + wait
        if wait is None and (allowed < 0 or each.failures <= allowed):
            raise BreachError("failure: it gives up with attempts left")
        if wait is not None and not 0 < wait <= LONGEST_RETRY:
            raise BreachError(f"failure: a retry in {wait} s")
        if outcome == "failed":
            each.refresh |= bool(each.carried & REFRESH)
        else:
            self._tell(vertex, "ok")

    def _tell(self, vertex: int, outcome: str) -> None:
        """Whoever hears of ``vertex`` owes a refresh, if it changed."""
        each = self.vertices[vertex]
        if each.changed_halfway:
            each.changed_halfway, outcome = False, "changed"
        owed, each.owed_below = each.owed_below, set()
        for below, edge in self.shape.told_by.get(vertex, ()):
            rules = self.rules[below]
            if below in owed or outcome == "changed" or (outcome == "would_change" and rules.noop):
                self._owes_refresh(below, edge.debounce or rules.debounce)

    def _owes_refresh(self, below: int, debounce: Debounce | None) -> None:
        each = self.vertices[below]
        self.event(below, REFRESH)
        if debounce is None:
            each.burst = None
        elif each.burst is None:
            each.burst = (
                min(self.now + debounce.at_most, self.now + debounce.calm),
                self.now + debounce.at_most,
            )
        else:
            each.burst = (min(each.burst[1], self.now + debounce.calm), each.burst[1])

    def _free_below(self, recovered: int) -> None:
        """What failed itself, and was blocked by ``recovered``, may be tried again at once."""
        for vertex in bits(self.failed):
            blockers = self.shape.blockers[vertex]
            if blockers & recovered and not blockers & self.failed:
                self.vertices[vertex].was_freed = True

    def reloaded(self, shape: Shape, rules: list[Rules], fresh: int, gone: int) -> None:
        """Another generation is in force, in which ``fresh`` are new or edited."""
        orphans = [(up, below) for up in range(shape.size) for below in self.vertices[up].owed_below]
        for vertex in bits(gone):
            self.vertices[vertex] = Vertex()
        for vertex in bits(fresh):
            self.vertices[vertex].begin_anew()
        before = self.failed
        self.failed &= ~(fresh | gone)
        self.shape, self.rules = shape, rules
        for vertex in bits(before & self.failed):  # it may have been blocked by an edge that is no more
            self.vertices[vertex].was_freed = True
        for up, below in orphans:
            heard = any(each == below for each, _ in shape.told_by.get(up, ()))
            if gone >> below & 1 or not heard:
                self.vertices[up].owed_below.discard(below)
            if not gone >> below & 1 and not heard:
                self.event(below, REFRESH)

    def transitions(self, told: list[tuple[int, bool]]) -> None:
        """Who became blocked or free again, as it was told."""
        for vertex, is_blocked in told:
            if bool(self.told_blocked >> vertex & 1) is is_blocked:
                raise BreachError(f"failure: {vertex} is told to be what it is already")
            self.told_blocked ^= 1 << vertex

    # ---- what is owed ----

    def _jobs_taken(self) -> set[object]:
        return {self.party_of.get(vertex, vertex) for vertex in bits(self.running & ~self.lent)}

    def _gathers(self, vertex: int, each: Vertex) -> bool:
        """Whether a refresh of ``vertex`` still waits for further changes."""
        if each.burst is None or not each.refresh:
            return False
        if each.unseen & (INITIAL | INTENT):
            return False
        return self.now < each.burst[0]

    def _fail_fast_holds(self, vertex: int) -> bool:
        """Whether nothing starts that is neither failed nor an ancestor of what failed. A whole answers for its members."""
        if not self.fail_fast or not self.failed:
            return False
        counting = [each for each in bits(self.failed) if each not in self.shape.composites]
        is_involved = (self.shape.below[vertex] | 1 << vertex) & self.failed
        return bool(counting) and not is_involved

    def _surely_owes(self, vertex: int) -> bool:
        """Whether ``vertex`` runs, or owes a check that nothing but time or others keep it from."""
        bit, each = 1 << vertex, self.vertices[vertex]
        if self.running & bit:
            return True
        if self.shape.blockers[vertex] & self.failed:
            return False
        if self.failed & bit:
            is_due = each.retry_at is not None and each.retry_at <= self.now
            return bool(each.again or each.stirred or is_due or self._is_news(each))
        return bool(each.unseen or each.refresh or each.again)

    def _is_news(self, each: Vertex) -> bool:
        """Whether something that came while a failing check ran has that made once more, whatever its retries are."""
        return bool(each.unseen & ~DRIFT or (each.unseen and each.failures == 1))

    def _rests(self, vertex: int) -> bool:
        """Whether ``vertex`` is fought over, and owes nothing but another repair later: that keeps nobody waiting."""
        each = self.vertices[vertex]
        owed = each.unseen | (each.carried if each.again else 0)
        owes_more = owed & ~(DRIFT | AUDIT) or each.refresh or self.running >> vertex & 1
        return self.now < each.paced_until and not owes_more

    def _may_owe(self, vertex: int) -> bool:
        """The same, or nobody outside can tell."""
        each = self.vertices[vertex]
        if self.running >> vertex & 1 or each.unseen or each.refresh or each.again:
            return True
        return self.failed >> vertex & 1 and (
            each.was_freed or (each.retry_at is not None and each.retry_at <= self.now)
        )

    def _due(self, vertex: int) -> float:
        """When the check that ``vertex`` owes must have started, if only time keeps it back; `NEVER` if it owes none."""
        each = self.vertices[vertex]
        refresh_at = NEVER
        if each.refresh:
            refresh_at = each.refresh_at if each.burst is None else each.burst[0]
        due = min(each.check_at, refresh_at)
        if self.failed >> vertex & 1:
            retry_at = NEVER if each.retry_at is None else each.retry_at
            is_new = each.stirred or each.again or self._is_news(each)
            due = min(retry_at, due) if is_new else retry_at
            if each.unseen and due == NEVER:
                due = each.failed_at
            due = max(due, each.failed_at + EVENT_PACE[1])
        return due if due == NEVER else max(due, each.not_before, each.paced_until)

    def at_rest(self, wakes_at: float, converged: bool, blocked: set[int], failed: set[int]) -> None:
        """The scheduler has nothing to start now, and wants to be woken at ``wakes_at``."""
        shape = self.shape
        if failed != set(bits(self.failed)):
            raise BreachError(f"failure: {failed} are said to have failed")
        self._blocked_are(blocked)
        may_owe = [vertex for vertex in bits(shape.present) if self._may_owe(vertex)]
        if converged and (self.failed or blocked or any(map(self._surely_owes, may_owe))):
            raise BreachError("converged, and that is not so")
        if not converged and not (self.failed or blocked or may_owe or self.running):
            raise BreachError("not converged, and nothing is owed")
        if len(self._jobs_taken()) >= self.jobs:
            return
        moving = self.held
        for vertex in may_owe:
            moving |= 1 << vertex
        for vertex in may_owe:
            if not self._is_kept(vertex, moving):
                self._comes_in_time(vertex, wakes_at)

    def _blocked_are(self, blocked: set[int]) -> None:
        for vertex in blocked:
            if not self.shape.blockers[vertex] & self.failed:
                raise BreachError(f"failure: {vertex} is blocked by nobody")
        resting = ~sum(1 << vertex for vertex in bits(self.shape.present) if self._may_owe(vertex))
        for vertex in bits(self.shape.present & resting):
            is_settled = not self.shape.before[vertex] & ~resting
            if self.shape.blockers[vertex] & self.failed and vertex not in blocked and is_settled:
                raise BreachError(f"failure: {vertex} is not said to be blocked")
        if self.told_blocked & ~self.shape.present:
            raise BreachError("failure: what left the graph is still told to be blocked")

    def _is_kept(self, vertex: int, moving: int) -> bool:
        """Whether something else than time keeps ``vertex`` from starting."""
        bit, rules = 1 << vertex, self.rules[vertex]
        if (self.running | self.paused | self.held) & bit or moving & self.shape.before[vertex]:
            return True
        if self.shape.blockers[vertex] & self.failed or self._fail_fast_holds(vertex):
            return True
        if rules.group is not None and self.batches.get(rules.group):
            return True
        return any(self.taken.get(name, 0) >= rules.capacity(name) for name in rules.semaphores)

    def _comes_in_time(self, vertex: int, wakes_at: float) -> None:
        due = self._due(vertex)
        if due == NEVER:
            return
        if due <= self.now:
            raise BreachError(f"no event is lost: {vertex} owes a check, may start, and does not")
        if wakes_at > due + 1e-6:
            raise BreachError(
                f"no event is lost: {vertex} is due at {due}, and nobody wakes up before {wakes_at}"
            )

    def ended(self) -> None:
        """Nothing will happen any more: all that is owed is kept back by a failure, a pause, or what waits for that."""
        moving = self.held
        for vertex in bits(self.shape.present):
            if self._surely_owes(vertex):
                moving |= 1 << vertex
        for vertex in bits(moving):
            if not self._is_kept(vertex, moving):
                raise BreachError(f"it ends: with {vertex} owing a check")
        for vertex in bits(self.failed):
            if self.vertices[vertex].unseen and not self._is_kept(vertex, moving):
                raise BreachError(f"no event is lost: that of {vertex} during a failing check")
