"""A one-shot run checks once more what failed, if anything was changed after that, and still always ends."""

from __future__ import annotations

import math
import os

import pytest
import trio
from engine_worlds import managed

from reactor.engine.events import Cause, Result
from reactor.engine.follow_up_checks import ChangeLog, Rechecks
from reactor.engine.options import RunOptions
from reactor.graph.topology import Topology
from reactor.resource.plan import Action, ResourceError
from reactor.resources.exec import Exec
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import converge_once


class Needs(Scripted, kind="needs"):
    """Fails until what it needs is as desired, and breaks off after a change of its own if it is `restless`."""

    def needing(self, other, *, restless=False):
        self._other, self._restless = other, restless
        return self

    _other = None
    _restless = False

    async def observe(self):
        found = await super().observe()
        if self._other is not None and self._other.script.drifted and not self._restless:
            raise ResourceError(f"{self._other.ref} is not there")
        return found

    def plan(self, state, *, refresh):
        if self._restless:
            return (Action("Would have tried", "tried", self._try),)
        return super().plan(state, refresh=refresh)

    async def _try(self):
        self._script.applies.append(0.0)
        raise ResourceError("broke off halfway")


async def test_what_failed_is_checked_again_when_a_later_change_may_have_repaired_it(autojump_clock):
    late = scripted("late", takes=5)
    early = Needs(name="early").needing(late)
    ended, story = await converge_once(early, late)
    assert [check.result for check in story.checks("needs#early")] == [Result.FAILED, Result.CHANGED]
    assert story.checks("needs#early")[-1].causes & Cause.RETRY
    assert ended.counts["changed"] == 2
    assert ended.counts["failed"] == 0


async def test_what_was_blocked_by_it_goes_on(autojump_clock):
    late = scripted("late", takes=5)
    early = Needs(name="early").needing(late)
    below = scripted("below", require=["needs#early"])
    ended, _ = await converge_once(early, late, below)
    assert ended.counts["changed"] == 3
    assert len(below.script.applies) == 1


async def test_a_long_chain_in_the_wrong_order_is_gone_through(autojump_clock):
    chain = [scripted("0", takes=5)]
    for number in range(1, 30):
        chain.append(Needs(name=str(number)).needing(chain[-1]))
    ended, _ = await converge_once(*reversed(chain), options=RunOptions(jobs=1))
    assert ended.counts["changed"] == 30
    assert sum(len(each.script.applies) for each in chain) == 30, "each is applied once"


async def test_a_failure_after_which_nothing_changed_is_not_checked_again(autojump_clock):
    broken, other = scripted("broken", failures=math.inf, after=["scripted#other"]), scripted("other")
    ended, _ = await converge_once(broken, other)
    assert len(broken.script.checks) == 1
    assert ended.counts["failed"] == 1


async def test_what_still_fails_is_checked_once_more_and_not_oftener(autojump_clock):
    broken, other = scripted("broken", failures=math.inf), scripted("other", takes=5)
    ended, _ = await converge_once(broken, other)
    assert len(broken.script.checks) == 2
    assert ended.counts["failed"] == 1


async def test_what_a_failure_changed_itself_is_no_reason(autojump_clock):
    restless = Needs(name="restless").needing(None, restless=True)
    ended, story = await converge_once(restless)
    assert len(story.checks("needs#restless")) == 1
    assert ended.counts["failed"] == 1


async def test_failures_that_change_something_each_time_do_not_keep_the_run_from_ending(autojump_clock):
    several = [Needs(name=str(number)).needing(None, restless=True) for number in range(5)]
    ended, story = await converge_once(*several)
    assert all(len(story.checks(each.ref)) <= 2 for each in several)
    assert ended.counts["failed"] == 5


async def test_a_change_that_was_under_way_when_the_failing_check_began_counts(autojump_clock):
    class Slow(Scripted, kind="slow"):
        async def _repair(self):
            await trio.sleep(10)
            await super()._repair()

    late = Slow(name="late")
    early = Needs(name="early").needing(late)
    early.script.takes = 3.0
    ended, _ = await converge_once(early, late)
    assert ended.counts["changed"] == 2


def test_in_another_generation_what_fails_is_checked_again_as_if_for_the_first_time():
    log = ChangeLog()
    rechecks = Rechecks(log)
    first, second = Topology.of_edges(2, []), Topology.of_edges(2, [])
    taken = []
    for topology in (first, first, second, second):
        log.begins(0)
        log.changing(1)
        log.ends(1)
        taken.append(rechecks.take([0], [], topology))
    assert taken == [[0], [], [0], []]


async def test_retries_come_first_and_their_number_holds_again_for_no_one(autojump_clock):
    broken = scripted("broken", failures=math.inf, meta={"retry": 2})
    ended, _ = await converge_once(broken, scripted("other", takes=100))
    assert len(broken.script.checks) == 1 + 2 + 1
    assert ended.counts["failed"] == 1


async def test_with_fail_fast_the_first_failure_is_the_end(autojump_clock):
    broken, slow = scripted("broken", failures=1), scripted("slow", takes=5)
    ended, _ = await converge_once(broken, slow, options=RunOptions(fail_fast=True))
    assert len(broken.script.checks) == 1
    assert ended.counts["failed"] == 1


@pytest.mark.parametrize("options", [RunOptions(noop=True), RunOptions(monitor_only=True)])
async def test_where_nothing_is_changed_nothing_is_checked_again(autojump_clock, options):
    broken, other = scripted("broken", failures=math.inf), scripted("other", takes=5)
    await converge_once(broken, other, options=options)
    assert len(broken.script.checks) <= 1


async def test_a_dry_run_does_not_call_failed_what_the_run_would_check_again(tmp_path):
    """Nothing orders the two: the run itself makes the directory, and then checks the file once more."""
    directory = tmp_path / "directory"
    alone = {"automatic_edges": False}
    wants = managed(directory / "f", meta=alone)
    brings = Exec(
        name="brings",
        provider="shell",
        command=f"sleep 0.2; mkdir {directory}",
        creates=str(directory),
        meta=alone,
    )
    ended, story = await converge_once(wants, brings, options=RunOptions(noop=True))
    assert ended.counts == ended.counts | {"failed": 0, "would_change": 2}
    assert [check.result for check in story.checks(wants.ref)] == [Result.FAILED, Result.WOULD_CHANGE]
    assert story.checks(wants.ref)[-1].actions == ("Would have created the file",)
    ended, _ = await converge_once(wants, brings)
    assert ended.counts == ended.counts | {"failed": 0, "changed": 2}


class Bundle(Scripted, kind="bundle"):
    """More comes with it than it says."""

    provides_more = True


async def test_a_dry_run_does_not_call_failed_what_may_come_with_a_package(tmp_path):
    wants = managed(tmp_path / "directory" / "f")
    ended, story = await converge_once(wants, Bundle(name="b"), options=RunOptions(noop=True))
    assert ended.counts == ended.counts | {"failed": 0, "would_change": 2}
    assert story.checks(wants.ref)[-1].actions[0].startswith("Can't tell before bundle#b is applied (")


async def test_a_dry_run_checks_no_failure_again_that_nothing_would_repair(tmp_path):
    wants = managed(tmp_path / "directory" / "f")
    other = Exec(name="other", provider="shell", command="true")
    ended, story = await converge_once(wants, other, options=RunOptions(noop=True))
    assert [check.result for check in story.checks(wants.ref)] == [Result.FAILED]
    assert ended.counts["failed"] == 1


async def test_a_command_that_wants_the_file_of_another_runs_after_all(tmp_path):
    """Nothing says that the one goes first: the path is within the text of a shell."""
    wanted, made = tmp_path / "wanted", tmp_path / "made"
    reads = Exec(name="reads", provider="shell", command=f"cat {wanted} > {made}")
    writes = Exec(name="writes", provider="shell", command=f"sleep 0.2; echo x > {wanted}")
    ended, _ = await converge_once(reads, writes)
    assert made.read_text() == "x\n"
    assert ended.counts["failed"] == 0


async def test_a_file_below_a_directory_that_a_command_makes_is_made_after_all(tmp_path):
    directory = tmp_path / "directory"
    makes = Exec(name="makes", provider="shell", command=f"sleep 0.2; mkdir {directory}")
    ended, _ = await converge_once(managed(directory / "f"), makes)
    assert (directory / "f").read_text() == "good\n"
    assert os.listdir(directory) == ["f"]
    assert ended.counts == ended.counts | {"failed": 0, "changed": 2}
