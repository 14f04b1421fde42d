"""What ``meta``, options and the audit make of a run."""

from __future__ import annotations

import pytest
import trio

from reactor.engine.events import AuditFound, Cause, Checked, Ended, Output, Result, Skipped
from reactor.engine.options import RunOptions
from reactor.engine.retries import CAP, JITTER, Backoff
from reactor.resource.output import emit_output
from reactor.resource.plan import Action
from reactor.resource.watch import TimerWatch
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import Story, converge_once, graph_of, running


async def test_a_timeout_fails_the_check_and_says_so(autojump_clock):
    a = scripted("a", takes=60, meta={"timeout": "2s"})
    ended, story = await converge_once(a)
    assert ended.duration == pytest.approx(2)
    assert "timeout of 2 s" in story.checks("scripted#a")[0].error
    assert "meta: {timeout: " in story.checks("scripted#a")[0].hint


async def test_poll_checks_again_and_again(autojump_clock):
    a = scripted("a", drifted=False, meta={"poll": "10s"})
    async with running(a):
        await a.script.begun(4)
        assert trio.current_time() - a.script.checks[0] == pytest.approx(30, rel=0.1)


async def test_a_timer_watch_is_served(autojump_clock):
    a = scripted("a", drifted=False).watch_for(TimerWatch(5.0))
    async with running(a):
        await a.script.begun(2)


async def test_a_semaphore_bounds_what_runs_at_once(autojump_clock):
    twenty = [
        scripted(f"r{i}", takes=1, meta={"semaphores": ["disk:2", "net"][: 1 + i % 2]}) for i in range(20)
    ]
    ended, _ = await converge_once(*twenty)
    assert ended.duration == pytest.approx(10)
    assert ended.counts["changed"] == 20


async def test_a_semaphore_that_is_named_twice_is_taken_once(autojump_clock):
    meta = {"semaphores": ["disk:2", "disk:2"]}
    ended, _ = await converge_once(*(scripted(f"r{i}", takes=1, meta=meta) for i in range(4)))
    assert ended.duration == pytest.approx(2)


@pytest.mark.parametrize(
    ("failures", "noop", "reason"),
    [
        (9, False, "not converged"),
        (9, True, "not converged"),
        (0, False, "nothing is left to do"),
        (0, True, "end of the dry run"),
    ],
)
async def test_a_run_that_ends_with_failures_or_a_dry_one_does_not_say_that_nothing_is_left_to_do(
    autojump_clock, failures, noop, reason
):
    ended, _ = await converge_once(scripted("a", failures=failures), options=RunOptions(noop=noop))
    assert ended.reason == reason


async def test_fail_fast_starts_nothing_more(autojump_clock):
    bad, slow = scripted("bad", failures=1, takes=1), scripted("slow", takes=3)
    late = scripted("late", after=["scripted#slow"])
    ended, story = await converge_once(bad, slow, late, options=RunOptions(fail_fast=True))
    assert slow.script.applies, "what runs is let end"
    assert not late.script.checks
    assert [(event.ref, event.reason) for event in story.all(Skipped)] == [
        ("scripted#late", "scripted#bad failed and fail_fast is set")
    ]
    assert ended.counts["skipped"] == 1


async def test_fail_fast_goes_on_when_the_failure_recovers(autojump_clock):
    bad, late = scripted("bad", failures=2), scripted("late", takes=1)
    after = scripted("after", after=["scripted#late"])
    async with running(bad, late, after, options=RunOptions(watch=True, fail_fast=True)) as story:
        await story.converged()
    assert after.script.applies[0] > bad.script.applies[0]


async def test_the_audit_finds_what_no_event_announced_and_counts_it(autojump_clock):
    a, b = scripted("a"), scripted("b")
    async with running(a, b, options=RunOptions(watch=True, audit_interval=20)) as story:
        await story.converged()
        b.script.drifted = True
        await story.until(lambda: story.all(AuditFound))
        assert 18 <= trio.current_time() - a.script.checks[0] <= 23
    assert [event.ref for event in story.all(AuditFound)] == ["scripted#b"]
    assert story.checks("scripted#a")[-1].causes is Cause.AUDIT


async def test_a_converged_timeout_ends_a_quiet_run(autojump_clock):
    a = scripted("a", takes=5)
    async with running(a, options=RunOptions(watch=True, converged_timeout=3, audit_interval=None)) as story:
        await story.converged()
        await trio.sleep(2)
        a.script.drifted = True
        story.drift("scripted#a")
        await story.until(lambda: story.all(Ended))
    ended = story.all(Ended)[0]
    assert ended.duration == pytest.approx(5 + 2 + 5 + 3), "the later change starts the wait anew"
    assert ended.reason == "nothing changed for 3 s"


@pytest.mark.parametrize("kept_back_by", ["a pause", "fail_fast"])
async def test_a_converged_timeout_does_not_wait_for_what_is_kept_back(autojump_clock, kept_back_by):
    a, b = scripted("a"), scripted("b", require=("scripted#a",))
    options = RunOptions(
        watch=True, converged_timeout=3, audit_interval=None, fail_fast=kept_back_by == "fail_fast"
    )
    async with running(a, b, scripted("c"), options=options) as story:
        await story.converged()
        if kept_back_by == "a pause":
            story.engine.dispatcher.pause(story.engine.vertex_table.number("scripted#a"))
            story.drift("scripted#a")
        else:
            a.script.drifted, a.script.failures = True, 1000
            story.drift("scripted#a")
            await story.until(lambda: story.result("scripted#a") is Result.FAILED)
            story.drift("scripted#c")
        with trio.fail_after(100):
            await story.until(lambda: story.all(Ended))


async def test_what_a_check_says_is_noticed_under_its_name(autojump_clock):
    class Talker(Scripted, kind="talker"):
        async def observe(self):
            emit_output("first")
            await trio.sleep(1)
            emit_output(f"last of {self.name}")
            return False

    _, story = await converge_once(Talker(name="a"), Talker(name="b"))
    heard = [(event.ref, event.line) for event in story.all(Output)]
    assert sorted(heard) == [
        ("talker#a", "first"), ("talker#a", "last of a"), ("talker#b", "first"), ("talker#b", "last of b"),
    ]  # fmt: skip


async def test_a_bug_in_one_kind_fails_one_resource(autojump_clock):
    class Buggy(Scripted, kind="buggy"):
        async def observe(self):
            raise ZeroDivisionError("oops")

    ended, story = await converge_once(Buggy(name="a"), scripted("b"))
    assert ended.counts | {"failed": 1, "changed": 1} == ended.counts
    assert "ZeroDivisionError: oops" in story.checks("buggy#a")[0].error


async def test_an_apply_that_does_not_take_is_a_failure(autojump_clock):
    class Stubborn(Scripted, kind="stubborn"):
        async def _repair(self):
            self.script.applies.append(0)

    _, story = await converge_once(Stubborn(name="a"))
    assert "the desired state was not reached" in story.checks("stubborn#a")[0].error


async def test_what_a_diff_shows_is_seen_before_the_change_and_reported_after_it_and_only_when_asked(
    autojump_clock,
):
    class Diffed(Scripted, kind="diffed"):
        def plan(self, state, *, refresh):
            async def text():
                assert not self.script.drifted
                return "-old\n+new\n"

            async def diff():
                assert self.script.drifted
                return text

            return (Action("Would", "did", self._repair, diff),) if state else ()

    _, story = await converge_once(Diffed(name="a"), options=RunOptions(diff=True))
    assert story.checks("diffed#a")[0].diffs == ("-old\n+new\n",)
    _, story = await converge_once(Diffed(name="a"))
    assert story.checks("diffed#a")[0].diffs == ()


async def test_marking_one_of_many_checks_one(autojump_clock):
    many = [
        scripted("r0"),
        *(scripted(f"r{i}", require=[f"scripted#r{(i - 1) // 2}"]) for i in range(1, 200)),
    ]
    async with running(*many) as story:
        await story.converged()
        before = len(story.all(Checked))
        story.drift("scripted#r0")
        await story.converged(times=2)
    assert [event.ref for event in story.all(Checked)[before:]] == ["scripted#r0"]
    assert story.result("scripted#r0") is Result.CHANGED


def test_a_run_with_watches_lets_events_in_more_often_than_one_without():
    watched, unwatched = (
        Story(graph_of([scripted("a")]), RunOptions(watch=watch)).engine.dispatcher.pool._slice
        for watch in (True, False)
    )
    assert watched < unwatched


def test_backoff_grows_to_its_cap_and_never_beyond():
    backoff = Backoff(base=1.0)
    now, waits = 0.0, []
    for _ in range(20):
        waits.append(backoff.next_wait(now))
        now += waits[-1]
    for expected, wait in zip([1, 2, 4, 8, 16], waits, strict=False):
        assert wait == pytest.approx(expected, rel=JITTER)
    assert max(waits) <= CAP
    assert min(waits[-5:]) >= CAP * (1 - JITTER)


def test_backoff_is_not_reset_by_luck_but_decays_with_time():
    backoff = Backoff(base=1.0)
    now = 0.0
    for _ in range(8):
        now += backoff.next_wait(now)
    soon = backoff.next_wait(now + 1)
    assert soon > 100
    assert backoff.next_wait(now + 100_000) < 1.2
