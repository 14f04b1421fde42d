"""Something else that undoes what a resource did, between its apply and its look at what came of that."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from reactor.engine.events import Flapping, Result
from reactor.testing.story import running

TIMES = 60
"""More than it takes until repairs count as a fight."""


async def assert_repaired_after_foreign_writer(resource, undo, times=TIMES, *, beside=(), at_once=False):
    """Call ``undo`` after each of the first ``times`` applies: none is a failure, and all is well once that has ended.

    ``at_once`` calls it as soon as a step is done, before anybody can look whether it had its effect.
    """
    left, verify, plan = times, resource.verify, resource.plan

    def take_a_turn():
        nonlocal left
        if left:
            left -= 1
            undo()

    async def verify_after_foreign_writer():
        take_a_turn()
        return await verify()

    def plan_with_foreign_writer(state, *, refresh):
        return tuple(replace(action, run=partial(run, action)) for action in plan(state, refresh=refresh))

    async def run(action):
        answer = await action.run()
        take_a_turn()
        return answer

    if at_once:
        resource.__dict__["plan"] = plan_with_foreign_writer
    else:
        resource.__dict__["verify"] = verify_after_foreign_writer
    async with running(resource, *beside) as story:
        await story.converged()
        checks = story.checks(resource.ref)
    assert left == 0
    assert {event.result for event in checks if event.result is not Result.OK} == {Result.CHANGED}, checks[-1]
    assert [event.ref for event in story.all(Flapping)] == ([resource.ref] if times == TIMES else [])
