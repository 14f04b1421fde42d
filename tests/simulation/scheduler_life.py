"""One life of the real scheduler: a random graph with random rules, driven at random beside the oracle."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from scheduler_oracle import Oracle
from scheduler_world import INTENT, BreachError, Debounce, Edge, Rules, Shape, bits

from reactor.engine.events import Cause
from reactor.engine.limits import Limits
from reactor.engine.outcome import Outcome
from reactor.engine.scheduler import Scheduler
from reactor.graph.graph import EdgeKind
from reactor.graph.topology import Topology
from reactor.resource.common_properties import RefreshDebounce

KINDS = ("subscribe", "require", "automatic", "after", "notify")
SEMAPHORES = ((), (), (), ("apt",), ("db:2",), ("apt", "db:2"), ("7",), ("7", "7"), ("db:3",))
DEBOUNCES = (None, None, Debounce(3.0, 10.0), Debounce(0.5, 0.7), Debounce(20.0, 5.0))
OUTCOMES = ("ok", "changed", "would_change", "failed", "unhealthy", "cancelled")
EVENTS = (Cause.DRIFT, Cause.DRIFT, Cause.DRIFT, Cause.AUDIT, Cause.INTENT, Cause.REFRESH)
STEPS = (
    "mark",
    "start",
    "finish",
    "wait",
    "hold",
    "release",
    "pause",
    "unpause",
    "lend",
    "touch",
    "pace",
    "reload",
)
USUAL = (0.2, 0.24, 0.26, 0.12, 0.02, 0.04, 0.02, 0.04, 0.02, 0.02, 0.01, 0.01)
TIMEOUT = 400
"""Steps for each vertex within which a life without events comes to rest."""


def as_bits(cause: Cause) -> int:
    """The oracle's causes: the same names, in the order of the design."""
    names = ("INITIAL", "INTENT", "DRIFT", "REFRESH", "RETRY", "AUDIT")
    return sum(1 << bit for bit, name in enumerate(names) if Cause[name] in cause)


AS_BITS = {bits_: as_bits(Cause(bits_)) for bits_ in range(64)}


class Life:
    """Begins with all vertices owing their first check; `step` does one thing more, and `end` lets it come to rest.

    ``log`` has the last steps in words. The same ``seed`` and ``most`` give the same life.
    """

    def __init__(self, seed: str, most: int = 60) -> None:
        self.chance = random.Random(seed)
        self.log: deque[str] = deque(maxlen=5000)
        self.steps = 0
        self.size = (
            self.chance.choice((2, 3, 4, 6, 10, 20, 40, most)) if most >= 60 else self.chance.randint(2, most)
        )
        self.features = {
            each: self.chance.random() < 0.5 for each in ("limits", "retry", "group", "debounce")
        }
        self.density = self.chance.choice((0.5, 1.0, 2.0)) / self.size
        self.bad = self.chance.choice((0.0, 0.1, 0.3, 0.7))
        self.weights = [weight * self.chance.choice((0.3, 1, 1, 3)) for weight in USUAL]
        self.rules = [self._rules() for _ in range(self.size)]
        present = (1 << self.size) - 1
        shape = self._shape(present)
        jobs, fail_fast = self.chance.choice((1, 2, 4, 64)), self.chance.random() < 0.4
        self.held = [0] * self.size
        self.handed_out: set[int] = set()
        self.oracle = Oracle(shape, list(self.rules), jobs, fail_fast=fail_fast)
        self.scheduler = Scheduler(
            _topology(shape),
            jobs=jobs,
            fail_fast=fail_fast,
            limits=self._limits(),
            rng=random.Random(self.chance.random()),
        )
        self.scheduler.blocking.composites = shape.composites
        self._note(
            f"size {self.size} jobs {jobs} fail_fast {fail_fast} edges {shape.edges} rules {self.rules}"
        )
        for vertex in range(self.size):
            if self.chance.random() < 0.1:
                self.hold(vertex)
        self.scheduler.mark_all(Cause.INITIAL)
        for vertex in range(self.size):
            self.oracle.event(vertex, AS_BITS[Cause.INITIAL])
        for (first, second), edge in shape.edges.items():
            if edge.kind == "notify" and self.chance.random() < 0.2:
                self._note(f"pledge {first} {second}")
                self.scheduler.refreshes.add_pending(first, second)
                self.oracle.owe_refresh(first, second)

    # ---- the world ----

    def _rules(self) -> Rules:
        chance, features = self.chance, self.features
        return Rules(
            retry=chance.choice((-1, 0, 1, 3)) if features["retry"] else -1,
            delay=chance.choice((0.05, 1.0, 10.0)),
            rate=chance.choice((None, None, 0.2, 5.0)) if features["limits"] else None,
            semaphores=chance.choice(SEMAPHORES) if features["limits"] else (),
            noop=chance.random() < 0.1,
            debounce=chance.choice(DEBOUNCES) if features["debounce"] else None,
            group=chance.choice((None, None, "a", "b")) if features["group"] else None,
        )

    def _limits(self) -> dict[int, Limits]:
        return {vertex: _as_limits(rules) for vertex, rules in enumerate(self.rules) if rules != Rules()}

    def _shape(self, present: int) -> Shape:
        chance, edges = self.chance, {}
        vertices = bits(present)
        density = max(self.density, 1.0 / self.size)
        for place, second in enumerate(vertices):
            for first in vertices[max(0, place - 12) : place]:
                if chance.random() < density:
                    debounce = chance.choice(DEBOUNCES) if self.features["debounce"] else None
                    edges[first, second] = Edge(chance.choice(KINDS), chance.random() < 0.1, debounce)
        composites = {}
        if len(vertices) > 2 and chance.random() < 0.3:
            whole = vertices[-1]
            for member in chance.sample(vertices[:-1], min(3, len(vertices) - 1)):
                composites[member] = (whole,)
                edges.setdefault((member, whole), Edge("notify"))
        return Shape(self.size, present, edges, composites)

    def _note(self, text: str) -> None:
        self.log.append(f"{self.steps} at {self.oracle.now if hasattr(self, 'oracle') else 0:g}: {text}")

    # ---- steps ----

    def step(self) -> None:
        """Do one thing that is drawn, and then whatever the driver would do at once, sometimes."""
        [what] = self.chance.choices(STEPS, self.weights)
        getattr(self, f"_{what}")()
        if self.chance.random() < 0.1:
            self.rest()

    def _vertex(self) -> int:
        return self.chance.randrange(self.size)

    def _mark(self) -> None:
        vertex = self._vertex()
        if self.oracle.shape.present >> vertex & 1:
            self.mark(vertex, self.chance.choice(EVENTS), self.chance.choice((0, 0, 0, 0.002, 3)))

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """An event comes."""
        self.steps += 1
        self._note(f"mark {vertex} {cause!r} in {delay}")
        self.oracle.event(vertex, AS_BITS[cause], delay)
        self.scheduler.mark(vertex, cause, self.oracle.now, delay)

    def _start(self) -> None:
        for _ in range(self.chance.choice((1, 1, 4))):
            if not ((self.chance.random() < 0.5 and self._end_group()) or self.start()):
                return

    def _end_group(self) -> bool:
        """End the next group before it starts, as the driver does where one look shows that all of it is as desired."""
        if not (group := self.scheduler.next_group()):
            return False
        self.steps += 1
        self._note(f"end the group {group}")
        first, *others = group
        self.oracle.started(first, self._causes(first), others)
        for each in others:
            self.oracle.follows(each, self._causes(each))
        self.scheduler.ended_as_desired(group)
        for each in group:
            self.oracle.finished(each, "ok", None)
        return True

    def start(self) -> bool:
        """Ask who starts next, as the driver does."""
        self.steps += 1
        scheduler = self.scheduler
        expected = scheduler.batches.followers[0] if scheduler.batches.followers else None
        vertex = scheduler.next_ready(self.oracle.now) if scheduler.has_ready else None
        if vertex is None:
            return False
        self._note(f"start {vertex}")
        self.handed_out.add(vertex)
        if expected is not None:
            if vertex != expected:
                raise BreachError("groups: another one is handed out than follows")
            return True
        followers = list(scheduler.batches.followers)
        self.oracle.started(vertex, self._causes(vertex), followers)
        for each in followers:
            self.oracle.follows(each, self._causes(each))
        return True

    def _causes(self, vertex: int) -> int:
        return AS_BITS[int(self.scheduler.causes(vertex))]

    def _finish(self) -> None:
        if self.handed_out:
            vertex = self.chance.choice(sorted(self.handed_out))
            self.finish(vertex, self._outcome())

    def _outcome(self) -> str:
        if self.chance.random() < self.bad:
            return self.chance.choice(("failed", "failed", "unhealthy", "cancelled"))
        return self.chance.choice(("ok", "changed", "changed", "would_change"))

    def finish(self, vertex: int, outcome: str) -> None:
        """A check ends."""
        self.steps += 1
        self._note(f"finish {vertex} {outcome}")
        self.handed_out.discard(vertex)
        wait = self.scheduler.finished(vertex, Outcome(outcome), self.oracle.now)
        self.oracle.finished(vertex, outcome, wait)

    def _wait(self) -> None:
        wakes_at = self.scheduler.delay_queue.next_time()
        if self.chance.random() < 0.5 and wakes_at < float("inf"):
            self.wait(max(self.oracle.now, wakes_at))
        else:
            self.wait(self.oracle.now + self.chance.choice((0.001, 0.1, 1, 10, 400)))

    def wait(self, until: float) -> None:
        """Time passes."""
        self.steps += 1
        self._note(f"until {until}")
        self.oracle.now = until
        self.scheduler.elapsed(until)

    def _hold(self) -> None:
        vertex = self._vertex()
        if self.oracle.shape.present >> vertex & 1:
            self.hold(vertex)

    def hold(self, vertex: int) -> None:
        """Its watch is not armed any more."""
        self.steps += 1
        self._note(f"hold {vertex}")
        self.held[vertex] += 1
        self.oracle.held |= 1 << vertex
        self.scheduler.order.hold(vertex)

    def _release(self) -> None:
        vertex = self._vertex()
        if self.held[vertex]:
            self.release(vertex)

    def release(self, vertex: int) -> None:
        """One hold of it is taken back."""
        self.steps += 1
        self._note(f"release {vertex}")
        self.held[vertex] -= 1
        if not self.held[vertex]:
            self.oracle.held &= ~(1 << vertex)
        self.scheduler.order.release(vertex)

    def _pause(self) -> None:
        self.steps += 1
        vertex = self._vertex()
        self._note(f"pause {vertex}")
        self.oracle.paused |= 1 << vertex
        self.scheduler.pause(vertex)

    def _unpause(self) -> None:
        vertex = self._vertex()
        if self.oracle.paused >> vertex & 1:
            self.unpause(vertex)

    def unpause(self, vertex: int) -> None:
        """Its pause is over."""
        self.steps += 1
        self._note(f"unpause {vertex}")
        self.oracle.paused &= ~(1 << vertex)
        self.scheduler.unpause(vertex)

    def _lend(self) -> None:
        if self.handed_out:
            self.steps += 1
            vertex = self.chance.choice(sorted(self.handed_out))
            self._note(f"lend {vertex}")
            if vertex not in self.oracle.party_of:
                self.oracle.lent |= 1 << vertex
            self.scheduler.release_job(vertex)

    def _touch(self) -> None:
        if here := sorted(each for each in self.handed_out if self.oracle.shape.present >> each & 1):
            self.steps += 1
            vertex = self.chance.choice(here)
            self._note(f"touch {vertex}")
            self.oracle.vertices[vertex].changed_halfway = True
            self.scheduler.refreshes.touched.add(vertex)

    def _pace(self) -> None:
        self.steps += 1
        vertex = self._vertex()
        until = self.oracle.now + self.chance.choice((0.01, 1.0))
        each = self.oracle.vertices[vertex]
        each.paced_until = until = max(until, each.paced_until)
        self._note(f"pace {vertex} until {until}")
        self.scheduler.delay_queue.pace(vertex, until)

    def _reload(self) -> None:
        """Another version of the manifest: vertices come, go and change, and so do the edges and settings."""
        self.steps += 1
        chance, oracle = self.chance, self.oracle
        before = oracle.shape.present
        share = chance.choice((0.05, 0.3))
        gone = sum(1 << v for v in bits(before) if chance.random() < share)
        new = sum(1 << v for v in bits(~before & (1 << self.size) - 1) if chance.random() < 0.7)
        changed = sum(1 << v for v in bits(before & ~gone) if chance.random() < share)
        shape = self._shape(before & ~gone | new)
        fresh = new | changed
        for vertex in bits(gone):
            while self.held[vertex]:
                self.release(vertex)
        for vertex in bits(fresh):
            self.rules[vertex] = self._rules()
        if chance.random() < 0.3:
            oracle.jobs = self.scheduler.jobs = chance.choice((1, 2, 4, 64))
        if chance.random() < 0.3:
            oracle.fail_fast = self.scheduler.fail_fast = not oracle.fail_fast
        self._note(f"reload {shape.edges} fresh {bits(fresh)} gone {bits(gone)} rules {self.rules}")
        oracle.reloaded(shape, list(self.rules), fresh, gone)
        absent = chance.choice((gone, ~shape.present & (1 << self.size) - 1))
        self.scheduler.reshape(_topology(shape), self._limits(), bits(fresh), bits(absent))
        self.scheduler.blocking.composites = shape.composites
        for vertex in bits(fresh):
            oracle.event(vertex, INTENT)
            self.scheduler.mark(vertex, Cause.INTENT, oracle.now)

    # ---- rest ----

    def rest(self) -> None:
        """Start all that may start, and have the oracle look at what is left."""
        while self.start():
            pass
        blocking = self.scheduler.blocking
        self.oracle.transitions(blocking.take_transitions())
        if blocking.blocked != set(bits(self.oracle.told_blocked)):
            raise BreachError("failure: who is blocked is not who was told to be")
        self.oracle.at_rest(
            self.scheduler.delay_queue.next_time(),
            self.scheduler.converged,
            blocking.blocked,
            blocking.failed,
        )
        known: dict[Any, Any] = {}
        for vertex in sorted(blocking.blocked)[:3]:
            culprits = blocking.culprits(vertex, known)
            if not culprits or set(culprits) - set(
                bits(self.oracle.shape.blockers[vertex] & self.oracle.failed)
            ):
                raise BreachError(f"failure: {vertex} blames {culprits}")

    def end(self) -> None:
        """No more events: it comes to rest, first as it is, then with nothing held or paused, then with nothing bad."""
        bad = {vertex for vertex in range(self.size) if self.chance.random() < self.bad}
        self._run_dry(lambda v: "failed" if v in bad and self.oracle.rules[v].retry >= 0 else "changed")
        for vertex in range(self.size):
            while self.held[vertex]:
                self.release(vertex)
            if self.oracle.paused >> vertex & 1:
                self.unpause(vertex)
        self._run_dry(lambda v: "failed" if v in bad and self.oracle.rules[v].retry >= 0 else "ok")
        for _ in range(self.size + 1):  # one that recovers frees others, which may have given up as well
            if not self.oracle.failed:
                break
            for vertex in bits(self.oracle.failed):
                self.mark(vertex, Cause.DRIFT)
            self._run_dry(lambda _: "ok")
        if not self.scheduler.converged:
            raise BreachError("it ends: all is well, and it is not converged")

    def _run_dry(self, outcome: Callable[[int], str]) -> None:
        for _ in range(TIMEOUT * self.size + 100):
            self.rest()
            if self.handed_out:
                vertex = min(self.handed_out)
                self.finish(vertex, outcome(vertex))
            elif self.scheduler.exhausted:
                self.oracle.ended()
                return
            elif self.scheduler.order.is_held and self.scheduler.delay_queue.next_time() == float("inf"):
                return
            else:
                self.wait(max(self.oracle.now, self.scheduler.delay_queue.next_time()))
        raise BreachError("it ends: it does not come to rest")


def _as_limits(rules: Rules) -> Limits:
    return Limits(
        retry=rules.retry,
        delay=rules.delay,
        rate=rules.rate,
        semaphores=tuple(dict.fromkeys(rules.semaphores)),
        noop=rules.noop,
        quiet=_as_quiet(rules.debounce),
        group=rules.group,
    )


def _as_quiet(debounce: Debounce | None) -> RefreshDebounce | None:
    return debounce and QUIETS[debounce]


QUIETS: Mapping[Debounce, RefreshDebounce] = {
    each: RefreshDebounce.model_validate({"for": f"{each.calm}s", "at_most": f"{each.at_most}s"})
    for each in DEBOUNCES
    if each
}


def _topology(shape: Shape) -> Topology:
    edges = shape.edges.items()
    topology = Topology.of_edges(shape.size, [(*pair, EdgeKind(edge.kind)) for pair, edge in edges])
    topology.quiet.update({pair: QUIETS[edge.debounce] for pair, edge in edges if edge.debounce})
    topology.end_orders(pair for pair, edge in edges if edge.ends)
    return topology
