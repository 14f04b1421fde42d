"""The promises of every kind, as a test suite for any kind.

A test of a kind needs one `Case` and a few lines::

    @pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
    async def test_greeting_keeps_the_contract(promise, tmp_path):
        await promise(case_in(tmp_path))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from reactor.engine.events import Cause, Result
from reactor.engine.options import RunOptions
from reactor.resource.base import Resource
from reactor.testing.story import Story, converge_once, running


@dataclass(frozen=True)
class Case:
    """One resource and its environment. Each case is used for one promise only.

    ``make`` builds a new resource, always with the same properties; in the initial environment it is not as desired.
    ``world`` returns everything the resource could change, as a value to compare. ``spoil`` makes a converged
    environment drift in a way that the resource's watches must announce; None when nothing can announce it.
    """

    make: Callable[[], Resource]
    world: Callable[[], Any]
    spoil: Callable[[], None] | None


Promise = Callable[[Case], Awaitable[None]]


async def observe_changes_nothing(case: Case) -> None:
    """Observing twice changes nothing."""
    before = case.world()
    resource = case.make()
    await resource.observe()
    await resource.observe()
    assert case.world() == before


async def plan_is_pure(case: Case) -> None:
    """The same state gives the same plan, and planning changes nothing."""
    before = case.world()
    resource = case.make()
    state = await resource.observe()
    for refresh in (False, True):
        assert resource.plan(state, refresh=refresh) == resource.plan(state, refresh=refresh)
    assert case.world() == before


async def noop_says_what_apply_does(case: Case) -> None:
    """Noop changes nothing, and reports as many sentences as an apply."""
    before = case.world()
    ended, story = await converge_once(case.make(), options=RunOptions(noop=True, diff=True))
    assert case.world() == before
    assert ended.counts[Result.WOULD_CHANGE] == 1
    planned = story.checks(case.make().ref)[0].actions
    _, story = await converge_once(case.make())
    assert len(story.checks(case.make().ref)[0].actions) == len(planned)


async def apply_reaches_the_desired_state(case: Case) -> None:
    """After an apply the plan is empty, and another run changes nothing."""
    ended, _ = await converge_once(case.make())
    assert ended.counts[Result.CHANGED] == 1, ended
    resource = case.make()
    assert await resource.verify() == ()
    after = case.world()
    if case.spoil is not None:  # an unobservable resource (a plain command) runs again in every run
        ended, _ = await converge_once(case.make())
        assert ended.changes == 0
        assert case.world() == after


async def an_outside_change_is_noticed_and_repaired(case: Case) -> None:
    """Drift is announced by an event, not found by an audit, and is repaired."""
    if case.spoil is None:
        return
    resource = case.make()
    async with running(resource) as story:
        await story.converged()
        desired = case.world()
        case.spoil()
        await story.until(lambda: _repaired(story, resource.ref) and case.world() == desired)


def _repaired(story: Story, ref: str) -> bool:
    return any(Cause.DRIFT in check.causes and check.result is Result.CHANGED for check in story.checks(ref))


async def properties_survive_a_round_trip(case: Case) -> None:
    """The properties that a resource reports build the same resource."""
    resource = case.make()
    properties = resource.model_dump(mode="json", exclude_unset=True, by_alias=True)
    assert type(resource).model_validate(properties).model_dump() == resource.model_dump()


CONTRACT: tuple[Promise, ...] = (
    observe_changes_nothing,
    plan_is_pure,
    noop_says_what_apply_does,
    apply_reaches_the_desired_state,
    an_outside_change_is_noticed_and_repaired,
    properties_survive_a_round_trip,
)
"""Every promise, in the order in which to investigate failures."""
