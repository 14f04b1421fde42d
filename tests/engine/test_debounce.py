"""``meta: {quiet: ...}``: a burst of changes is one refresh, and none is ever dropped."""

from __future__ import annotations

import pytest
import trio

from reactor.engine.events import Cause, Result
from reactor.engine.refreshes import RefreshDebouncer
from reactor.resource.common_properties import RefreshDebounce
from reactor.resource.declared import desires_the_same
from reactor.testing.scripted import scripted
from reactor.testing.story import converge_once, graph_of, running

QUIET = {"quiet": {"for": "2s", "at_most": "30s"}}


def subscriber(**more):
    return scripted("b", drifted=False, subscribe=["scripted#a"], **{"meta": QUIET, **more})


async def change(story, resource):
    """Let something change ``resource``, and wait until it is repaired."""
    times = len(resource.script.applies)
    resource.script.drifted = True
    story.drift(resource.ref)
    await story.until(lambda: len(resource.script.applies) > times)


async def test_a_burst_of_changes_is_one_refresh_two_seconds_after_the_last(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        for _ in range(5):
            await change(story, a)
            last = trio.current_time()
            await trio.sleep(1)
        await story.converged(times=2)
    assert len(b.script.refreshes) == 1
    assert b.script.refreshes[0] == pytest.approx(last + 2)


async def test_a_burst_without_end_is_refreshed_at_most_so_late(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        first = trio.current_time()
        for _ in range(70):
            await change(story, a)
            await trio.sleep(1.1)  # so that none comes at the moment of a refresh
        await story.rest()
    assert [round(each - first, 1) for each in b.script.refreshes] == [30, 60.8, 77.9], (
        "30 s after the first of each, and 2 s after the last of all"
    )


async def test_what_is_gathered_is_not_convergence(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        await change(story, a)
        await trio.sleep(1.9)
        assert not story.engine.scheduler.converged
        assert not b.script.refreshes
        await story.converged(times=2)
        assert len(b.script.refreshes) == 1


async def test_drift_is_repaired_at_once_meanwhile_and_the_refresh_still_comes(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        await change(story, a)
        await trio.sleep(0.5)
        await change(story, b)
        assert story.checks("scripted#b")[-1].causes is Cause.DRIFT
        assert not b.script.refreshes
        await story.converged(times=2)
    assert len(b.script.refreshes) == 1


async def test_what_requires_it_waits_for_the_refresh(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    c = scripted("c", drifted=False, require=["scripted#b"])
    async with running(a, b, c) as story:
        await story.converged()
        await change(story, a)
        story.drift("scripted#c")
        await story.converged(times=2)
    assert c.script.checks[-1] >= b.script.refreshes[0]


async def test_the_first_start_does_not_wait(autojump_clock):
    a, b = scripted("a"), subscriber()
    async with running(a, b) as story:
        await story.converged()
        assert trio.current_time() < 1
    assert len(b.script.refreshes) == 1


async def test_a_one_shot_run_refreshes_at_once(autojump_clock):
    a, b = scripted("a"), subscriber()
    ended, _ = await converge_once(a, b)
    assert len(b.script.refreshes) == 1
    assert ended.duration < 1


async def test_a_refresh_that_fails_is_tried_again_like_any_other(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        b.script.failures = 2
        await change(story, a)
        await story.converged(times=2)
    assert len(b.script.refreshes) == 1
    assert [event.result for event in story.checks("scripted#b")[-3:]] == [
        Result.FAILED, Result.FAILED, Result.CHANGED,
    ]  # fmt: skip


async def test_a_change_during_the_refresh_begins_another_burst(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        await change(story, a)
        b.script.takes = 5
        await b.script.begun(2)
        b.script.takes = 0
        story.engine.scheduler.mark(1, Cause.DRIFT, trio.current_time())
        await story.rest()
        await change(story, a)
        await story.converged(times=3)
    assert len(b.script.refreshes) == 2


async def test_a_reload_of_the_subscriber_refreshes_at_once(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        await change(story, a)
        new = subscriber(alias="new")
        story.engine.reload(graph_of([scripted("a", drifted=False), new]))
        await story.converged(times=2)
        assert trio.current_time() < 1
    assert len(new.script.refreshes) == 1


async def test_what_left_the_manifest_has_pending_no_gathered_refresh(autojump_clock):
    a, b = scripted("a", drifted=False), subscriber()
    async with running(a, b) as story:
        await story.converged()
        await change(story, a)
        story.engine.reload(graph_of([scripted("a", drifted=False)]))
        await story.converged(times=2)
        await trio.sleep(100)
    assert not b.script.refreshes


def test_a_burst_that_has_ended_holds_no_refresh_back_however_late_it_is_looked_at():
    debouncer, refresh = RefreshDebouncer(), Cause.REFRESH.value
    debouncer.add(7, RefreshDebounce.model_validate({"for": "1s"}), 0.0)
    held = [debouncer.deferred_causes(7, refresh, now) for now in (0.0, 0.5, 1.0, 1.5)]
    assert held == [refresh, refresh, 0, 0]


def test_the_longest_wait_is_thirty_seconds_unless_said():
    assert RefreshDebounce.model_validate({"for": "500ms"}) == RefreshDebounce.model_validate(
        {"for": "500ms", "at_most": "30s"}
    )


def edged(*subscriptions):
    return scripted("b", drifted=False, subscribe=list(subscriptions))


EDGE = {"scripted#a": {"quiet": {"for": "2s", "at_most": "30s"}}}


async def test_one_edge_may_be_quiet_alone(autojump_clock):
    a, c, b = scripted("a", drifted=False), scripted("c", drifted=False), edged(EDGE, "scripted#c")
    async with running(a, c, b) as story:
        await story.converged()
        await change(story, a)
        await trio.sleep(1)
        await change(story, a)
        last = trio.current_time()
        await story.converged(times=2)
        assert b.script.refreshes == [pytest.approx(last + 2)]
        now = trio.current_time()
        await change(story, c)
        await story.rest()
        assert b.script.refreshes[1:] == [pytest.approx(now)]


async def test_a_refresh_over_another_edge_completes_what_was_gathered(autojump_clock):
    a, c, b = scripted("a", drifted=False), scripted("c", drifted=False), edged(EDGE, "scripted#c")
    async with running(a, c, b) as story:
        await story.converged()
        await change(story, a)
        await trio.sleep(1)
        now = trio.current_time()
        await change(story, c)
        await story.rest()
        await trio.sleep(60)
        assert b.script.refreshes == [pytest.approx(now)]


def test_the_quiet_of_an_edge_is_written_below_its_reference():
    resource = edged(EDGE)
    [subscription] = resource.subscribe
    assert (subscription.ref, subscription.quiet.calm, subscription.quiet.at_most) == (
        "scripted#a",
        2.0,
        30.0,
    )
    assert not desires_the_same(resource, edged("scripted#a"))
