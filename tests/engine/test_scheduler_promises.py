"""The eight promises of the scheduler, checked after every step of random lives of random graphs."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reactor.engine.events import Cause
from reactor.engine.limits import Limits
from reactor.engine.outcome import Outcome
from reactor.engine.scheduler import Scheduler
from reactor.graph.graph import REFRESHING, WEAK, EdgeKind
from reactor.graph.topology import Topology
from reactor.resource.common_properties import RefreshDebounce

MOST = 6
LARGE = 40
QUIET = RefreshDebounce.model_validate({"for": "3s", "at_most": "10s"})
KINDS = (EdgeKind.SUBSCRIBE, EdgeKind.REQUIRE, EdgeKind.AFTER, EdgeKind.NOTIFY)
AT_ONCE = Cause.INITIAL | Cause.INTENT
vertices = st.integers(0, LARGE - 1)
"""In a small graph, what is left of it."""


@st.composite
def graphs(draw):
    pairs = [(a, b) for a in range(MOST) for b in range(a + 1, MOST)]
    kinds = [None, None, *KINDS]
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=len(pairs), max_size=len(pairs)))
    return {pair: kind for pair, kind in zip(pairs, chosen, strict=True) if kind}


PAIRS = {(a, b) for a in range(MOST) for b in range(a + 1, MOST)}
endings = st.just(PAIRS) | st.sets(st.sampled_from(sorted(PAIRS)))
"""The edges, if there are such, over which a failure ends an order."""


@st.composite
def limits(draw):
    return Limits(
        retry=draw(st.sampled_from([None, 0, 2])),
        delay=draw(st.sampled_from([0.5, 10.0])),
        rate=draw(st.sampled_from([None, None, 0.2])),
        semaphores=draw(st.sampled_from([(), (), ("a",), ("a", "b:2")])),
        noop=draw(st.booleans()),
        quiet=draw(st.sampled_from([None, None, QUIET])),
        group=draw(st.sampled_from([None, None, "a", "b"])),
    )


def sparse(seed, size):
    """The edges of a graph that is too large for hypothesis to draw them one by one."""
    chance = random.Random(seed)
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)]
    return {pair: chance.choice(KINDS) for pair in pairs if chance.random() < 2 / size}


class Lives(RuleBasedStateMachine):
    """A second, slow and obvious account of what is owed, kept beside the scheduler's own."""

    @initialize(
        edges=graphs(),
        ends=endings,
        limits=st.lists(limits(), min_size=MOST, max_size=MOST),
        jobs=st.integers(1, 4),
        needs_job=st.lists(st.booleans(), min_size=MOST, max_size=MOST),
        held=st.sets(vertices, max_size=MOST),
        fail_fast=st.booleans(),
        seed=st.none() | st.integers(0, 2**32),
    )
    def build(self, *, edges, ends, limits, jobs, needs_job, held, fail_fast, seed):
        """With a ``seed`` the graph is large."""
        self.size = MOST if seed is None else LARGE
        self.limits = [limits[v % MOST] for v in range(self.size)]
        self.needs_job = bytearray(
            needs_job[v % MOST] or self.limits[v].group is not None for v in range(self.size)
        )
        edges = edges if seed is None else sparse(seed, LARGE)
        self.now = 0.0
        self.fail_fast = fail_fast
        self.paused = set()
        self.pledged = {}  # vertex -> who owes a refresh for it from an earlier life
        self.scheduler = Scheduler(
            self.connect(edges, ends),
            jobs=jobs,
            fail_fast=fail_fast,
            limits=dict(enumerate(self.limits)),
            needs_job=self.needs_job,
            rng=random.Random(1),
        )
        self.present = set(range(self.size))
        self.unseen = {v: Cause(0) for v in range(self.size)}  # marks no run has started with
        self.refresh_owed = set()
        self.debouncer = {}  # vertex -> when the first and the last change of its burst came
        self.running = {}  # vertex -> whether the run carries a refresh
        self.failed = set()
        self.held = set()
        self.starts = [0] * self.size
        self.jobs = jobs
        self.needed_job = {}  # by vertex, when it started last
        for v in held:
            self.hold(v)
        self.scheduler.mark_all(Cause.INITIAL)
        for v in range(self.size):
            self.unseen[v] |= Cause.INITIAL

    def connect(self, edges, ends):
        self.edges = edges
        self.ancestors = self.closure(edges)
        over = self.closure(ends & edges.keys())
        strong = [pair for pair, kind in edges.items() if kind not in WEAK]
        self.strong_ancestors = self.closure(strong, over)
        """Whose failure blocks: those required, and those required by these, and those before in an order that ends."""
        topology = Topology.of_edges(self.size, [(a, b, kind) for (a, b), kind in edges.items()])
        topology.end_orders(sorted(ends & edges.keys()))
        return topology

    @rule(
        edges=graphs(),
        ends=endings,
        changed=st.sets(vertices, max_size=MOST),
        present=st.sets(vertices, min_size=3),
        fail_fast=st.booleans(),
    )
    def reload(self, edges, ends, changed, present, fail_fast):
        """Another graph: some vertices are gone, some new, some changed, and any may still run."""
        changed, present = {v % self.size for v in changed}, {v % self.size for v in present}
        self.fail_fast = self.scheduler.fail_fast = fail_fast
        new = present - self.present
        gone = self.present - present
        changed = changed & present & self.present
        self.present = (self.present & present) | new
        topology = self.connect(
            {(a, b): kind for (a, b), kind in edges.items() if {a, b} <= self.present}, ends
        )
        orphans = [(a, b) for a, told in self.pledged.items() for b in told - gone if not self.tells(a, b)]
        self.pledged = {a: told - gone for a, told in self.pledged.items()}
        for a, b in orphans:
            self.pledged[a].discard(b)
            self.refresh_owed.add(b)
            self.unseen[b] |= Cause.REFRESH
        for v in gone:
            self.release(v)
            self.unseen[v] = Cause(0)
            self.refresh_owed.discard(v)
            self.debouncer.pop(v, None)
            if v in self.running:
                self.running[v] = False
        for v in changed | new:
            self.debouncer.pop(v, None)
            self.limits[v], self.needs_job[v] = self.limits[v - 1], self.needs_job[v - 1]
        self.failed -= changed | gone
        self.scheduler.reshape(topology, dict(enumerate(self.limits)), changed | new, gone)
        for v in changed | new:
            self.mark_now(v, Cause.INTENT)

    def tells(self, a, b):
        return self.edges.get((a, b)) in REFRESHING

    def closure(self, pairs, beginning=None):
        found = {v: set(beginning[v]) if beginning else set() for v in range(self.size)}
        for a, b in sorted(pairs, key=lambda pair: pair[1]):
            found[b] |= {a} | found[a]
        return found

    @rule(
        v=vertices,
        cause=st.sampled_from([Cause.DRIFT, Cause.AUDIT, Cause.INITIAL]),
        delay=st.sampled_from([0, 0, 0.002, 3]),
    )
    def mark(self, v, cause, delay):
        v %= self.size
        if v in self.present:
            self.mark_now(v, cause, delay)

    def mark_now(self, v, cause, delay=0):
        self.scheduler.mark(v, cause, self.now, delay)
        self.unseen[v] |= cause

    @rule(v=vertices, wait=st.sampled_from([0.01, 1]))
    def fight(self, v, wait):
        """Something else changes ``v`` back all the time: its repairs are paced."""
        v %= self.size
        if v in self.present:
            self.scheduler.delay_queue.pace(v, self.now + wait)

    @rule(v=vertices)
    def hold(self, v):
        v %= self.size
        if v not in self.held and v in self.present:
            self.held.add(v)
            self.scheduler.order.hold(v)

    @rule(v=vertices)
    def release(self, v):
        v %= self.size
        if v in self.held:
            self.held.discard(v)
            self.scheduler.order.release(v)

    @rule(v=vertices)
    def pause(self, v):
        self.paused.add(v % self.size)
        self.scheduler.pause(v % self.size)

    @rule(v=vertices)
    def unpause(self, v):
        if v % self.size in self.paused:
            self.paused.discard(v % self.size)
            self.scheduler.unpause(v % self.size)

    @rule(seed=st.integers(0, 2**32))
    def pledge(self, seed):
        """A refresh is owed from an earlier life, once what tells of it is as desired."""
        pairs = sorted(pair for pair, kind in self.edges.items() if kind is EdgeKind.NOTIFY)
        if pairs:
            a, b = random.Random(seed).choice(pairs)
            self.pledged.setdefault(a, set()).add(b)
            self.scheduler.refreshes.add_pending(a, b)

    @rule(most=st.integers(1, 4))
    def start(self, most):
        for _ in range(most):
            self.start_one()

    def start_one(self):
        """Start the next, and with it whoever of its group comes along."""
        v = self.scheduler.next_ready(self.now)
        if v is None:
            return None
        self.started(v)
        while self.scheduler.batches.followers:
            self.started(self.scheduler.next_ready(self.now))
        batches = self.scheduler.batches.batch
        with_job = {id(batches.get(v, v)) for v in self.running if v in batches or self.needed_job[v]}
        others = sum(v not in batches and not self.needed_job[v] for v in self.running)
        assert len(with_job) <= self.jobs
        assert len(with_job) + others <= (1 if self.jobs == 1 else 2 * self.jobs)
        return v

    def started(self, v):
        assert v not in self.running, "promise 2: one at a time"
        assert v in self.present, "what left the graph does not start"
        assert v not in self.held, "nothing starts before its watch is armed"
        assert v not in self.paused, "nothing starts that is paused"
        assert not self.is_stopped(v), (
            "nothing starts under fail_fast but what failed and what goes before it"
        )
        for up in self.ancestors[v]:
            assert up not in self.running, "promise 1: order, an ancestor runs"
            assert not self.scheduler.in_motion(up), "promise 1: order, an ancestor is dirty"
        for up in self.strong_ancestors[v]:
            assert up not in self.failed, "promise 5: started below a failure"
        causes = self.scheduler.causes(v)
        waits = Cause.REFRESH if self.gathers(v) and not causes & AT_ONCE else Cause(0)
        assert causes, "nothing runs without a cause"
        assert self.unseen[v] & ~causes & ~waits == Cause(0), "promise 3: the run knows every mark before it"
        assert (v in self.refresh_owed and not waits) == (Cause.REFRESH in causes), (
            "promise 4: the refresh comes with the run, unless it still gathers changes"
        )
        self.unseen[v] &= waits
        self.running[v] = Cause.REFRESH in causes
        if self.running[v]:
            self.refresh_owed.discard(v)
            self.debouncer.pop(v, None)
        self.starts[v] += 1
        self.needed_job[v] = self.needs_job[v]

    def is_stopped(self, v):
        """Whether it has nothing to do with what failed, and so does not start under ``fail_fast``."""
        involved = self.failed.union(*(self.ancestors[each] for each in self.failed))
        return self.fail_fast and bool(self.failed) and v not in involved

    def gathers(self, v):
        """Whether a refresh of ``v`` waits for things to calm down."""
        if v not in self.debouncer or v not in self.refresh_owed:
            return False
        first, last = self.debouncer[v]
        return self.now < min(first + QUIET.at_most, last + QUIET.calm)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), outcome=st.sampled_from([*Outcome, Outcome.CHANGED, Outcome.FAILED]))
    def finish(self, data, outcome):
        self.finish_one(data.draw(st.sampled_from(sorted(self.running))), outcome)

    @rule(seed=st.integers(0, 2**32))
    def live(self, seed):
        """Forty steps of a busy life: hypothesis alone picks too few failures of refreshes to be a trial."""
        chance = random.Random(seed)
        for _ in range(40):
            step = chance.random()
            if chance.random() < 0.03:
                self.reload_at_random(chance)
            if step < 0.25:
                self.mark(chance.randrange(self.size), Cause.DRIFT, chance.choice([0, 0, 0.002, 3]))
            elif step < 0.55:
                self.start_one()
            elif step < 0.85:
                if self.running:
                    outcomes = [*Outcome, Outcome.CHANGED, Outcome.FAILED]
                    self.finish_one(chance.choice(sorted(self.running)), chance.choice(outcomes))
            elif step < 0.855:
                self.fight(chance.randrange(self.size), chance.choice([0.01, 1]))
            elif step < 0.87:
                chance.choice((self.hold, self.pause))(chance.randrange(self.size))
            elif step < 0.93:
                chance.choice((self.release, self.unpause))(chance.randrange(self.size))
                self.pledge(chance.random())
            else:
                self.pass_time(chance.choice([0.001, 0.1, 1, 60]))
            self.nothing_owed_is_forgotten()
            self.failures_are_local_and_named()

    def reload_at_random(self, chance):
        edges = sparse(chance.random(), self.size)
        some = lambda share: {v for v in range(self.size) if chance.random() < share}  # noqa: E731
        ends = chance.choice([edges.keys(), {pair for pair in edges if chance.random() < 0.4}])
        self.reload(edges, ends, some(0.3), some(0.8), chance.random() < 0.5)

    def finish_one(self, v, outcome):
        carried_refresh = self.running.pop(v)
        wait = self.scheduler.finished(v, outcome, self.now)
        if v not in self.present:
            assert wait is None
            return
        if carried_refresh and outcome in (Outcome.FAILED, Outcome.CANCELLED):
            self.refresh_owed.add(v)
        elif outcome is not Outcome.CANCELLED:
            self.failed.discard(v)
        if outcome in (Outcome.FAILED, Outcome.UNHEALTHY, Outcome.CRITICAL):
            self.failed.add(v)
            assert wait is None or wait > 0
        else:
            assert wait is None
        settles = outcome not in (Outcome.FAILED, Outcome.CANCELLED)
        pledged = self.pledged.pop(v, set()) if settles else set()
        for (a, b), kind in self.edges.items():
            reaches = outcome is Outcome.CHANGED or (outcome is Outcome.WOULD_CHANGE and self.limits[b].noop)
            reaches = reaches or b in pledged
            if a == v and kind in REFRESHING and reaches:
                self.refresh_owed.add(b)
                self.unseen[b] |= Cause.REFRESH
                if self.limits[b].quiet is not None:
                    self.debouncer[b] = (self.debouncer.get(b, (self.now,))[0], self.now)

    @rule(step=st.sampled_from([0.001, 0.1, 1, 60, 3600]))
    def pass_time(self, step):
        self.now += step
        self.scheduler.elapsed(self.now)

    @invariant()
    def nothing_owed_is_forgotten(self):
        """Promises 3, 4 and 8: whoever is owed a run is in motion, blocked, or failed and said so."""
        for v, causes in self.unseen.items():
            if causes or v in self.refresh_owed:
                known = (
                    self.scheduler.in_motion(v)
                    or v in self.scheduler.blocking.blocked
                    or v in self.scheduler.blocking.failed
                    or v in self.scheduler.delay_queue.resting
                )
                assert known, f"{v} owes {causes} and nobody knows"

    @invariant()
    def failures_are_local_and_named(self):
        """Promise 5: blocked means below a failure, and the culprits are failed strong ancestors."""
        assert self.scheduler.blocking.failed == self.failed
        known = {}
        for v in self.scheduler.blocking.blocked:
            culprits = self.scheduler.blocking.culprits(v, known)
            assert culprits == self.scheduler.blocking.culprits(v, {})
            assert culprits
            assert set(culprits) <= self.failed & self.strong_ancestors[v]

    def run_dry(self, outcome):
        """Let everything end without outside events; promise 6 says that takes boundedly many steps."""
        for v in list(self.held):
            self.release(v)
        for v in list(self.paused):
            self.unpause(v)
        for _ in range(50 * self.size * self.size):
            while self.start_one() is not None:
                pass
            if self.running:
                self.finish_one(min(self.running), outcome)
            elif self.scheduler.exhausted:
                break
            else:
                self.now = max(self.now, self.scheduler.delay_queue.next_time())
                self.scheduler.elapsed(self.now)
        else:
            raise AssertionError("promise 6: it does not end")
        moving = {v for v in range(self.size) if self.scheduler.in_motion(v)}
        for v in moving:
            assert any(self.is_stopped(up) for up in moving & (self.ancestors[v] | {v})), (
                "promise 6: it ended with something in motion"
            )
        assert self.scheduler.at_rest or self.failed or moving, (
            "promise 6: it ended with something that only rests"
        )
        assert self.scheduler.delay_queue.resting.keys() <= moving

    @rule()
    def quiesce(self):
        self.run_dry(Outcome.OK)
        below_failed = {v for v in range(self.size) if self.strong_ancestors[v] & self.failed}
        moving = {v for v in range(self.size) if self.scheduler.in_motion(v)}
        assert self.scheduler.blocking.blocked == below_failed - moving, (
            "promise 5: exactly the strong descendants are blocked"
        )
        for v in range(self.size):
            if v not in below_failed | self.failed | moving:
                assert not self.unseen[v], "promise 3: paid in the end"
                assert v not in self.refresh_owed

    @rule(v=vertices)
    def one_mark_is_one_check(self, v):
        """Promise 7: at rest, a mark that finds all well runs one vertex and nothing else."""
        v %= self.size
        self.run_dry(Outcome.OK)
        if v not in self.present or (self.fail_fast and self.failed):
            return
        before, told = list(self.starts), set(self.pledged.get(v, ()))
        self.mark(v, Cause.DRIFT, 0)
        self.run_dry(Outcome.OK)
        ran = [b - a for a, b in zip(before, self.starts, strict=True)]
        freed = self.scheduler.blocking.blocked | told | {v}
        assert all(
            times == 0 for u, times in enumerate(ran) if u not in freed and v not in self.strong_ancestors[u]
        )
        assert ran[v] == (0 if v in self.scheduler.blocking.blocked else 1)

    def teardown(self):
        if not hasattr(self, "scheduler"):
            return
        self.run_dry(Outcome.OK)
        for v in sorted(self.failed):  # what gave up retrying is woken by the next event
            self.mark(v, Cause.DRIFT, 0)
            self.run_dry(Outcome.OK)
        assert self.scheduler.converged
        assert not any(self.unseen.values())
        assert not self.refresh_owed


TestSchedulerPromises = Lives.TestCase
TestSchedulerPromises.settings = settings(max_examples=400, stateful_step_count=20)
