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

import trio

from reactor.engine.events import Cause, Result
from reactor.engine.options import RunOptions
from reactor.resource.base import Resource
from reactor.resource.redaction import redacted, register_secret
from reactor.testing.story import Story, converge_once, running


@dataclass(frozen=True)
class Case:
    """One resource and its environment. Each case is used for one promise only.

    ``make`` builds a new resource, always with the same properties; in the initial environment it is not as desired.
    ``world`` returns everything the resource could change, as a value to compare. ``spoil`` makes a converged
    environment drift in a way that the resource's watches must announce; None when nothing can announce it.

    ``in_one_step`` promises that a cancelled apply leaves the old state or the new one; it can't be promised of many
    things, such as a tree. ``secret`` is a text of 16 characters or more, a secret of a manifest that ``make`` gives
    to the resource.
    """

    make: Callable[[], Resource]
    world: Callable[[], Any]
    spoil: Callable[[], None] | None
    in_one_step: bool = False
    secret: str = ""


_MOST_WAITS = 50
"""How many waits of an apply are cancelled, one after the other."""
_PART = 8
"""Characters of a secret that must not be shown, wherever in it they are."""

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


class _CancelAfter(trio.abc.Instrument):
    """Cancels ``scope`` once the task that made it has been resumed ``times`` times."""

    def __init__(self, scope: trio.CancelScope, times: int) -> None:
        self._scope, self._left, self._task = scope, times, trio.lowlevel.current_task()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step."""
        if task is self._task:
            self._left -= 1
            if self._left < 0:
                self._scope.cancel()


async def _apply_cancelled(resource: Resource, times: int) -> bool:
    """Apply ``resource``, cancelled when it waits after ``times`` waits. Return whether it waited so often."""
    with trio.CancelScope() as scope:
        plan = resource.plan(await resource.observe(), refresh=False)
        instrument = _CancelAfter(scope, times)
        trio.lowlevel.add_instrument(instrument)
        try:
            for action in plan:
                await action.make()
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return scope.cancelled_caught


async def a_cancelled_apply_leaves_the_old_state_or_the_new(case: Case) -> None:
    """Wherever an apply is cancelled, it leaves no mix and no temporary file, and the next run succeeds."""
    if not case.in_one_step:
        return
    before, left = case.world(), []
    for times in range(_MOST_WAITS):
        if not await _apply_cancelled(case.make(), times):
            break
        left.append(case.world())
    ended, _ = await converge_once(case.make())
    assert not ended.left, ended
    after = case.world()
    assert [world for world in left if world not in (before, after)] == []


async def what_is_secret_is_not_shown(case: Case) -> None:
    """The events of a dry run and of an apply, with their diffs, hold no part of the secret."""
    if not case.secret:
        return
    register_secret(case.secret)
    parts = {case.secret[start : start + _PART] for start in range(len(case.secret) - _PART + 1)}
    for noop in (True, False):
        _, story = await converge_once(case.make(), options=RunOptions(noop=noop, diff=True))
        shown = repr([redacted(event) for event in story.events])
        assert [part for part in parts if part in shown] == []


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
    a_cancelled_apply_leaves_the_old_state_or_the_new,
    what_is_secret_is_not_shown,
    properties_survive_a_round_trip,
)
"""Every promise, in the order in which to investigate failures."""
