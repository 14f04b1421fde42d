"""What something else changes between our own change and the look after it: drift met again, and no failure."""

from __future__ import annotations

import os
import stat

import pytest
import trio

from reactor.engine.events import Flapping, Result
from reactor.resource.plan import Action
from reactor.resources.file import File
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import converge_once, running

OURS, THEIRS = 0o640, 0o600


def mode_of(path):
    """The permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


class Fought(File, kind="file"):
    """A file to which something else gives a mode right after we did, before we look again."""

    async def verify(self):
        if self.__dict__["changes"] > 0:
            self.__dict__["changes"] -= 1
            os.chmod(self.name, THEIRS)
        return await super().verify()


def fought(path, changes, **properties):
    """A file whose mode is ours, that something else changes back so often."""
    path.write_text("")
    path.chmod(THEIRS)
    owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": f"{OURS:04o}"}
    resource = Fought(name=str(path), ensure="present", **owner, **properties)
    resource.__dict__["changes"] = changes
    return resource


@pytest.mark.parametrize("retry", [0, None])
async def test_a_file_is_repaired_within_a_second_after_its_last_foreign_change(
    in_memory, autojump_clock, retry
):
    ours = fought(in_memory / "f", 90, meta={} if retry is None else {"retry": retry})
    async with running(ours) as story:
        await story.until(lambda: ours.__dict__["changes"] == 0)
        ended = trio.current_time()
        await story.converged()
        assert trio.current_time() - ended <= 1.01
    assert mode_of(in_memory / "f") == OURS
    assert {event.result for event in story.checks(ours.ref)} == {Result.CHANGED}
    assert [event.ref for event in story.all(Flapping)] == [ours.ref]


async def test_a_subscriber_of_what_is_fought_over_is_neither_blocked_nor_starved(in_memory, autojump_clock):
    ours = fought(in_memory / "f", float("inf"))
    below = scripted("below", drifted=False, subscribe=(ours.ref,))
    async with running(ours, below) as story:
        await story.until(lambda: len(below.script.refreshes) >= 3)
        assert not story.engine.scheduler.converged
        assert not story.engine.scheduler.at_rest
    assert {event.result for event in story.checks(below.ref)} == {Result.CHANGED}


async def test_a_run_without_watches_ends_though_its_file_is_fought_over(in_memory, autojump_clock):
    ours = fought(in_memory / "f", float("inf"))
    ended, story = await converge_once(ours)
    assert ended.counts["failed"] == 1
    assert (
        "repaired 10 times, and each time something else changed it back" in story.checks(ours.ref)[-1].error
    )


async def test_a_run_without_watches_repairs_what_was_changed_meanwhile(in_memory, autojump_clock):
    ended, _ = await converge_once(fought(in_memory / "f", 3))
    assert mode_of(in_memory / "f") == OURS
    assert (ended.counts["changed"], ended.counts["failed"]) == (1, 0)


class Several(Scripted, kind="several"):
    """Desired: nothing of what is ``left``. Each apply does its plan, and then something else does ``theirs``."""

    def plan(self, state, *, refresh):
        return tuple(
            Action(f"Would have undone {each}", f"undid {each}", self._undo) for each in self.__dict__["left"]
        )

    async def verify(self):
        return self.plan(None, refresh=False)

    async def _undo(self):
        self.__dict__["applies"] += 1
        theirs = self.__dict__["theirs"]
        self.__dict__["left"] = theirs.pop(0) if theirs else []


def several(*left, **properties):
    resource = Several(name="a", **properties)
    first, *theirs = left
    resource.__dict__.update(left=first, theirs=theirs, applies=0)
    return resource


async def test_what_is_left_is_planned_again_if_it_is_something_else(autojump_clock):
    racing = several(["enabled"], ["started"], [])
    ended, story = await converge_once(racing)
    assert ended.counts["changed"] == 1
    assert [event.actions for event in story.checks(racing.ref)] == [("undid enabled", "undid started")]


@pytest.mark.parametrize("theirs", [(["a"],), (["b"], ["a"]), (["b"], ["b"])])
async def test_a_plan_that_is_left_over_although_it_was_carried_out_is_a_failure(autojump_clock, theirs):
    racing = several(["a"], *theirs)
    ended, story = await converge_once(racing)
    assert ended.counts["failed"] == 1
    assert racing.__dict__["applies"] == len(theirs)
    assert "the desired state was not reached" in story.checks(racing.ref)[0].error


async def test_what_is_another_thing_each_time_is_drift_and_paced(autojump_clock):
    racing = several(*([f"change {number}"] for number in range(400)))
    async with running(racing) as story:
        await story.converged()
    assert {event.result for event in story.checks(racing.ref)} == {Result.CHANGED}
    assert story.all(Flapping)


class Accepting(Scripted, kind="accepting"):
    """Its change is accepted always, and made if ``is_obeyed``; something else then undoes the first ``changes``."""

    def plan(self, state, *, refresh):
        if not self.__dict__["is_due"]:
            return ()
        return (Action("Would have set it", "set it", self._set, reads_back=True),)

    async def verify(self):
        self._undo()
        return self.plan(await self.observe(), refresh=False)

    async def _set(self):
        self.__dict__["is_due"] = not self.__dict__["is_obeyed"]

    def _undo(self):
        if self.__dict__["changes"] > 0:
            self.__dict__["changes"] -= 1
            self.__dict__["is_due"] = True


class Telling(Accepting, kind="telling"):
    """Says whether its change was made; something else undoes that before anybody can look."""

    async def observe(self):
        self.__dict__["looks"] += 1

    async def verify(self):
        return self.plan(await self.observe(), refresh=False)

    async def _set(self):
        await super()._set()
        is_made = not self.__dict__["is_due"]
        self._undo()
        return is_made


@pytest.mark.parametrize(
    ("is_obeyed", "changes", "result"), [(True, 3, Result.CHANGED), (False, 0, Result.FAILED)]
)
async def test_reading_back_distinguishes_what_was_undone_from_what_was_never_done(
    autojump_clock, is_obeyed, changes, result
):
    ours = Accepting(name="a")
    ours.__dict__.update(is_due=True, is_obeyed=is_obeyed, changes=changes)
    ended, story = await converge_once(ours)
    assert ended.counts[result] == 1
    assert {event.result for event in story.checks(ours.ref)} == {result}


@pytest.mark.parametrize(
    ("is_obeyed", "changes", "result", "looks"), [(True, 3, Result.CHANGED, 8), (False, 0, Result.FAILED, 3)]
)
async def test_what_the_system_says_it_made_is_drift_again_without_a_look_in_between(
    autojump_clock, is_obeyed, changes, result, looks
):
    ours = Telling(name="a")
    ours.__dict__.update(is_due=True, is_obeyed=is_obeyed, changes=changes, looks=0)
    ended, story = await converge_once(ours)
    assert ended.counts[result] == 1
    assert {event.result for event in story.checks(ours.ref)} == {result}
    assert ours.__dict__["looks"] == looks
