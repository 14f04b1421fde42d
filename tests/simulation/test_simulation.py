"""The simulation that `simulate.py` runs for as long as one likes: a short one, and that it sees broken promises."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scheduler_life import Life
from simulate import live, simulate

from reactor.engine.admission import Admission
from reactor.engine.blocking import FailFast
from reactor.engine.delay_queue import DelayQueue
from reactor.engine.limits import Semaphores
from reactor.engine.outcome import Outcome
from reactor.engine.readiness import Readiness
from reactor.engine.refreshes import RefreshDebouncer, Refreshes
from reactor.engine.retries import Retries
from reactor.engine.scheduler import Scheduler

STEPS = 200_000


def test_no_promise_is_broken_in_many_short_lives():
    report = simulate(STEPS, "ci")
    assert report.breaches == []
    assert report.steps >= STEPS


def test_the_same_seed_is_the_same_life():
    logs = []
    for _ in range(2):
        life = Life("twice")
        for _ in range(200):
            life.step()
        logs.append(list(life.log))
    assert logs[0] == logs[1]


def test_the_oracle_knows_nothing_of_the_code_that_it_judges():
    for name in ("scheduler_oracle.py", "scheduler_world.py"):
        tree = ast.parse(Path(__file__).with_name(name).read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert imported <= {"__future__", "dataclasses", "scheduler_world"}


def _deaf_while_running(mark):
    def deaf(self, vertex, cause, now, delay=0.0):
        if vertex not in self.running:
            mark(self, vertex, cause, now, delay)

    return deaf


BROKEN = {
    "only what failed starts under fail_fast": (
        FailFast, "_upstream_of_failures", lambda _: lambda self: self._blocking.failed,
    ),
    "nothing is held back under fail_fast": (FailFast, "holds_back", lambda _: lambda self, vertex: False),
    "an event during a run is forgotten": (Scheduler, "mark", _deaf_while_running),
    "a change is told to nobody": (Refreshes, "propagate", lambda _: lambda self, vertex, outcome, now: None),
    "a semaphore is never taken": (Semaphores, "acquire", lambda _: lambda self, names, vertex: (
        self.held.update({vertex: ()}) or True
    )),
    "nobody waits for a change to calm down": (RefreshDebouncer, "deferred_causes", lambda _: lambda self, vertex, owed, now: 0),
    "a fight slows nobody down": (DelayQueue, "pace", lambda _: lambda self, vertex, until: None),
    "a rate slows nobody down": (DelayQueue, "throttle_until", lambda _: lambda self, vertex, until: None),
    "who ran last wakes nobody": (Admission, "leave", lambda leave: lambda self, vertex: (leave(self, vertex)[0], [])),
    "nothing is retried": (Retries, "failed", lambda failed: lambda *args, **more: failed(*args, **more) and None),
    "a pause is not kept": (Scheduler, "pause", lambda _: lambda self, vertex: None),
    "a hold is not kept": (Readiness, "hold", lambda _: lambda self, vertex: None),
    "what waits does not know when that is over": (Readiness, "end", lambda _: lambda self, vertex: None),
    "a failure is a success": (Scheduler, "finished", lambda finished: lambda self, vertex, outcome, now: finished(
        self, vertex, Outcome.OK if outcome is Outcome.FAILED else outcome, now
    )),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_scheduler_broken_on_purpose_is_caught(fault, monkeypatch):
    owner, name, broken = BROKEN[fault]
    monkeypatch.setattr(owner, name, broken(getattr(owner, name)))
    report = simulate(30_000, "broken")
    assert report.breaches
    [(seed, step, breach)] = report.breaches
    assert live(seed) == (step, breach), "the seed repeats it"
