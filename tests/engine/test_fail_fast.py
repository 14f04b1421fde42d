"""Under ``fail_fast`` a failure holds everything back but what failed, and what has to go before it."""

from __future__ import annotations

import pytest

from reactor.engine.events import Cause, Result
from reactor.engine.options import RunOptions
from reactor.engine.outcome import Outcome
from reactor.engine.scheduler import Scheduler
from reactor.graph.graph import EdgeKind
from reactor.graph.topology import Topology
from reactor.testing.scripted import scripted
from reactor.testing.story import running

STAYS = RunOptions(watch=True, fail_fast=True, audit_interval=None)


@pytest.mark.parametrize("kind", ["require", "subscribe", "after"])
async def test_what_goes_before_a_failure_is_repaired_and_the_failure_retried(autojump_clock, kind):
    first, middle = scripted("first", drifted=False), scripted("middle", after=["scripted#first"])
    bad = scripted("bad", failures=3, **{kind: ["scripted#middle"]})
    other = scripted("other", drifted=False)
    async with running(first, middle, bad, other, options=STAYS) as story:
        await story.until(lambda: story.result("scripted#bad") is Result.FAILED)
        first.script.drifted = other.script.drifted = True
        story.drift("scripted#first")
        story.drift("scripted#other")
        await story.until(lambda: first.script.applies)
        assert not other.script.applies, "it has nothing to do with the failure"
        await story.converged()
    assert bad.script.checks[-1] > first.script.applies[0]
    assert other.script.applies[0] >= bad.script.checks[-1]


def scheduler_of(size, *edges):
    topology = Topology.of_edges(size, [(a, b, EdgeKind.REQUIRE) for a, b in edges])
    return Scheduler(topology, jobs=4, fail_fast=True)


def test_what_was_held_back_may_start_once_something_below_it_fails_too():
    """A is held back because of F. Then B, which ran, fails, and its retry waits for A."""
    a, b, f = range(3)
    scheduler = scheduler_of(3, (a, b))
    for vertex in (b, f):
        scheduler.mark(vertex, Cause.DRIFT, 0.0)
        assert scheduler.next_ready(0.0) == vertex
    scheduler.finished(f, Outcome.FAILED, 0.0)
    scheduler.mark(a, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) is None
    scheduler.finished(b, Outcome.FAILED, 0.0)
    assert scheduler.next_ready(0.0) == a


def test_what_a_recovered_failure_let_start_is_held_back_again_by_another():
    a, b, f = range(3)
    scheduler = scheduler_of(3, (a, b))
    for vertex in (b, f):
        scheduler.mark(vertex, Cause.DRIFT, 0.0)
        assert scheduler.next_ready(0.0) == vertex
    scheduler.finished(f, Outcome.FAILED, 0.0)
    scheduler.finished(b, Outcome.FAILED, 0.0)
    scheduler.mark(b, Cause.DRIFT, 10.0)
    scheduler.elapsed(10.0)
    started = {scheduler.next_ready(10.0), scheduler.next_ready(10.0)}
    assert started == {b, f}
    scheduler.finished(f, Outcome.FAILED, 10.0)
    scheduler.finished(b, Outcome.OK, 10.0)
    scheduler.mark(a, Cause.DRIFT, 10.0)
    assert scheduler.next_ready(10.0) is None
    scheduler.mark(f, Cause.DRIFT, 20.0)
    scheduler.elapsed(20.0)
    assert scheduler.next_ready(20.0) == f
    scheduler.finished(f, Outcome.OK, 20.0)
    assert scheduler.next_ready(20.0) == a


def test_a_new_graph_in_which_it_goes_before_the_failure_lets_it_start():
    a, b = range(2)
    scheduler = scheduler_of(2)
    scheduler.mark(b, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == b
    scheduler.finished(b, Outcome.FAILED, 0.0)
    scheduler.mark(a, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) is None
    scheduler.reshape(Topology.of_edges(2, [(a, b, EdgeKind.AFTER)]), {}, [], [])
    assert scheduler.next_ready(0.0) == a
