"""A critical health check has its resource checked again, or refreshed, with growing waits and not for ever."""

from __future__ import annotations

import itertools

import pytest
import trio
from health_worlds import listener, port_check
from ports import free_port

from reactor.engine.check_completion import MOST_REPAIRS
from reactor.engine.events import Cause, Result
from reactor.engine.options import RunOptions
from reactor.resource.declared import declare
from reactor.resource.watch import TimerWatch
from reactor.resources.apply import Apply
from reactor.resources.exec import Exec
from reactor.testing.scripted import scripted
from reactor.testing.story import converge_once, running
from reactor.watchers.timers import TimerWatcher

TIMERS = {TimerWatch: TimerWatcher}


def hung(name="a", port=None, on_critical="refresh", **properties):
    """As desired, and its port answers nobody."""
    check = port_check(port or free_port(), on_critical=on_critical)
    return scripted(name, drifted=False, health_checks=[check], **properties)


def nagios(code, **properties):
    return {"command": f"/bin/sh -c 'exit {code}'", **properties}


async def failed(story, ref, times):
    await story.until(lambda: len(story.checks(ref)) >= times)


async def test_refresh_refreshes_what_is_critical_until_it_is_well(autojump_clock):
    port = free_port()
    a, below = hung(port=port), scripted("b", drifted=False, subscribe=["scripted#a"])
    async with running(a, below) as story:
        await failed(story, "scripted#a", 3)
        assert len(a.script.refreshes) == 2
        assert not below.script.checks, "it is blocked"
        with listener(port=port):
            await story.converged()
        await trio.sleep(1000)
    assert len(a.script.refreshes) == 2, "what is well again by itself is not refreshed"
    assert len(below.script.refreshes) == 1, "who subscribes to it hears of the repair"
    repair = story.checks("scripted#a")[1]
    assert repair.causes == Cause.RETRY | Cause.HEALTH
    assert repair.actions == ("refreshed",)


async def test_the_waits_grow_and_after_some_repairs_there_are_only_looks(autojump_clock):
    a = hung()
    async with running(a) as story:
        await failed(story, "scripted#a", MOST_REPAIRS + 2)
    times = a.script.refreshes
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(times) == MOST_REPAIRS
    assert waits == sorted(waits)
    assert waits[-1] > 10
    *_, last = story.checks("scripted#a")
    assert f"{MOST_REPAIRS} repairs in a row have not helped" in last.hint
    assert last.retry_in > 20


async def test_once_it_was_well_all_repairs_may_be_made_again_and_wait_as_long_as_before(autojump_clock):
    port = free_port()
    a = scripted("a", drifted=False, health_checks=[port_check(port, on_critical="refresh", interval="5s")])
    async with running(a, watchers=TIMERS) as story:
        await failed(story, "scripted#a", 3 * MOST_REPAIRS)
        before = len(a.script.refreshes)
        assert before == MOST_REPAIRS
        with listener(port=port):
            await story.converged()
        await story.until(lambda: len(a.script.refreshes) > before)


@pytest.mark.parametrize("on_critical", ["check", "none"])
async def test_what_is_not_to_be_refreshed_is_not(autojump_clock, on_critical):
    a = hung(on_critical=on_critical)
    async with running(a) as story:
        await failed(story, "scripted#a", 4)
    assert a.script.refreshes == a.script.applies == []
    is_repair = on_critical == "check"
    assert [bool(each.causes & Cause.HEALTH) for each in story.checks("scripted#a")] == [
        False,
        *[is_repair] * 3,
    ]


@pytest.mark.parametrize(("code", "repairs"), [(1, 0), (2, 1), (3, 0)])
async def test_only_critical_is_repaired(code, repairs):
    a = scripted("a", drifted=False, health_checks=[nagios(code, on_critical="refresh")])
    await converge_once(a)
    assert len(a.script.refreshes) == repairs


@pytest.mark.parametrize(
    ("options", "meta"),
    [
        (RunOptions(monitor_only=True), {}),
        (RunOptions(noop=True), {}),
        (RunOptions(), {"monitor_only": True}),
        (RunOptions(), {"noop": True}),
        (RunOptions(), {"mode": "warn"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("watch", [True, False])
async def test_what_is_only_looked_at_is_never_repaired(autojump_clock, options, meta, watch):
    a = hung(meta=meta)
    if watch:
        async with running(a, options=options._replace(watch=True, audit_interval=None)) as story:
            await failed(story, "scripted#a", 4)
    else:
        _, story = await converge_once(a, options=options)
    assert a.script.refreshes == []
    assert not any(each.causes & Cause.HEALTH for each in story.checks("scripted#a"))


async def test_a_run_that_ends_refreshes_once_what_is_critical(autojump_clock):
    a = hung()
    ended, story = await converge_once(a)
    assert len(a.script.refreshes) == 1
    assert len(story.checks("scripted#a")) == 2
    assert ended.counts["failed"] == 1


async def test_a_run_that_ends_does_not_refresh_what_it_has_just_changed(autojump_clock):
    a = hung()
    a.script.drifted = True
    ended, _ = await converge_once(a)
    assert len(a.script.applies) == 1
    assert a.script.refreshes == []
    assert ended.counts["failed"] == 1


async def test_a_refresh_that_is_pending_anyway_is_made_once(autojump_clock):
    above, a = scripted("above"), hung(subscribe=["scripted#above"])
    async with running(above, a) as story:
        await failed(story, "scripted#a", 1)
        assert len(a.script.refreshes) == 1
        await failed(story, "scripted#a", 2)
        assert len(a.script.refreshes) == 2


async def test_a_command_without_guards_runs_again_and_can_repair_it(tmp_path):
    mended = tmp_path / "mended"
    command = f"echo x >> {tmp_path}/log; test $(wc -l < {tmp_path}/log) -lt 2 || touch {mended}"
    check = nagios(0)["command"].replace("exit 0", f"test -e {mended} || exit 2")
    a = Exec(
        name="a",
        provider="shell",
        command=command,
        meta={"delay": "10ms"},
        health_checks=[{"command": check}],
    )
    async with running(a) as story:
        await story.converged()
    assert (tmp_path / "log").read_text() == "x\nx\n"
    assert [each.result for each in story.checks("exec#a")] == [Result.FAILED, Result.CHANGED]


@pytest.mark.parametrize(("on_critical", "runs"), [("check", 0), ("refresh", 2), ("none", 0)])
async def test_a_command_that_only_refreshes_runs_when_that_is_asked_for(tmp_path, on_critical, runs):
    a = Exec(
        name="a", provider="shell", command=f"echo x >> {tmp_path}/log", refreshonly=True,
        meta={"delay": "10ms"}, health_checks=[nagios(2, on_critical=on_critical)],
    )  # fmt: skip
    async with running(a) as story:
        await failed(story, "exec#a", 3)
    log = tmp_path / "log"
    assert (len(log.read_text().split()) if log.exists() else 0) == runs


async def test_what_belongs_to_a_sick_manifest_is_checked(autojump_clock):
    port = free_port()
    member = scripted("member", drifted=False)
    whole = Apply(name="/child.yaml", health_checks=[port_check(port)])
    declare(whole, whole.declared._replace(members=(member.ref,)))
    async with running(member, whole) as story:
        await failed(story, whole.ref, 3)
        assert Cause.HEALTH in story.checks(member.ref)[1].causes
        with listener(port=port):
            await story.converged()
    assert member.script.refreshes == []


async def test_a_check_that_breaks_off_while_it_repairs_goes_on_with_that(autojump_clock):
    a = hung()
    async with running(a) as story:
        await failed(story, "scripted#a", 1)
        a.script.failures = 1
        await failed(story, "scripted#a", 3)
    assert story.checks("scripted#a")[1].error.startswith("the script says so")
    assert Cause.HEALTH in story.checks("scripted#a")[2].causes
    assert len(a.script.refreshes) == 1
