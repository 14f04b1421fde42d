"""Something else that undoes what a resource did, between its apply and its look at what came of that."""

from __future__ import annotations

from reactor.engine.events import Flapping, Result
from reactor.testing.story import running

TIMES = 60
"""More than it takes until repairs count as a fight."""


async def assert_repaired_after_foreign_writer(resource, undo, times=TIMES, *, beside=()):
    """Call ``undo`` after each of the first ``times`` applies: none is a failure, and all is well once that has ended."""
    left, verify = times, resource.verify

    async def verify_after_foreign_writer():
        nonlocal left
        if left:
            left -= 1
            undo()
        return await verify()

    resource.__dict__["verify"] = verify_after_foreign_writer
    async with running(resource, *beside) as story:
        await story.converged()
        checks = story.checks(resource.ref)
    assert left == 0
    assert {event.result for event in checks if event.result is not Result.OK} == {Result.CHANGED}, checks[-1]
    assert [event.ref for event in story.all(Flapping)] == ([resource.ref] if times == TIMES else [])
