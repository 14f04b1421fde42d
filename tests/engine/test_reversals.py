"""What left the manifest and asked for it is undone under a running engine, once, and in the way of nobody."""

from __future__ import annotations

import pytest
import trio

from reactor.engine.events import Cause, Checked, Reloaded, Reversed, Reversing, Unblocked
from reactor.engine.options import RunOptions
from reactor.engine.reversals import Reversals
from reactor.resource.relations import Claim
from reactor.resources.accounts import Group
from reactor.resources.accounts.database import GroupLine
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import Story, graph_of, running

REVERSE = {"reverse": True}


class Undoable(Scripted, kind="undoable"):
    """A scripted resource that can be undone, and claims what its name is about."""

    async def reversal(self, state):
        return Undoable(name=self.name, ensure="absent")

    def claims(self):
        yield Claim("thing", self.name.rpartition("/")[2], {})


class Notes:
    """A memory that knows nothing but what undoes whom."""

    def __init__(self):
        self.recorded = {}
        self.forgotten = []

    def cause_of(self, resource):
        return Cause.INTENT

    def prepare_generation(self, resources):
        return lambda: None

    def pending_refreshes(self):
        return {}

    async def intend(self, ref, subscribers):
        pass

    def pass_on(self, ref, subscribers):
        pass

    def applied(self, resource):
        pass

    def begins(self, ref):
        pass

    def refreshed(self, ref):
        pass

    def can_undo(self, ref):
        return ref in self.recorded

    def reversal_of(self, ref):
        return self.recorded.get(ref)

    async def record_reversal(self, ref, reversal):
        self.recorded[ref] = reversal

    def reversals(self, resources, may_have):
        gone = [reversal for ref, reversal in self.recorded.items() if ref not in resources]
        return gone[::-1]

    def hand_over(self, ref, heir, reversal):
        self.undone(ref)
        self.recorded[heir] = reversal

    def undone(self, ref):
        self.forgotten.append(ref)
        del self.recorded[ref]


def undoable(name, **more):
    return Undoable(name=name, meta=REVERSE, **more)


async def test_what_left_is_undone_once_the_last_made_first(autojump_clock):
    notes = Notes()
    a, b, stays = undoable("a"), undoable("b", require=["undoable#a"]), undoable("c")
    async with running(a, b, stays, run_store=notes) as story:
        await story.converged()
        undoes = dict(notes.recorded)
        story.engine.reload(graph_of([undoable("c")]))
        await story.converged(times=2)
        assert not story.engine.reversals.pending
        story.engine.reload(graph_of([undoable("c", alias="edited")]))
        await story.converged(times=3)
    assert notes.forgotten == ["undoable#b", "undoable#a"]
    assert [event.ref for event in story.all(Reversing)] == ["undoable#b", "undoable#a"]
    assert [event.ref for event in story.all(Reversed)] == ["undoable#b", "undoable#a"]
    assert len(undoes["undoable#a"].script.applies) == 1
    assert undoes["undoable#b"].script.applies <= undoes["undoable#a"].script.applies
    assert set(story.all(Reloaded)[0].gone) == {"undoable#a", "undoable#b"}
    assert len(stays.script.checks) == 1, "who stays is not checked for it"


async def test_the_check_that_runs_while_its_resource_leaves_undoes_nothing(autojump_clock):
    notes = Notes()
    old = undoable("a")
    async with running(old, run_store=notes) as story:
        await story.converged()
        old.script.takes = 5
        story.drift("undoable#a")
        await old.script.begun(2)
        undoes = notes.recorded["undoable#a"]
        story.engine.reload(graph_of([]))
        await story.until(lambda: story.all(Reversed))
    assert len(undoes.script.applies) == 1


async def test_what_can_not_be_undone_yet_is_retried_and_blocks_nothing(autojump_clock):
    notes = Notes()
    async with running(undoable("a"), run_store=notes) as story:
        await story.converged()
        notes.recorded["undoable#a"].script.failures = 3
        free = scripted("free")
        story.engine.reload(graph_of([free]))
        await free.script.begun()
        assert not story.all(Reversed)
        await story.converged(times=2)
        assert story.all(Reversed)
        assert not story.all(Unblocked)


async def test_a_start_undoes_what_left_while_no_one_looked(autojump_clock):
    notes = Notes()
    notes.recorded["undoable#a"] = undoes = Undoable(name="a", ensure="absent")
    async with running(scripted("b"), run_store=notes) as story:
        await story.converged()
    assert undoes.script.applies
    assert notes.forgotten == ["undoable#a"]


async def test_what_an_edit_lets_a_resource_change_is_added_to_what_is_recorded():
    notes = Notes()
    reversals = Reversals(notes, undoing=True)
    await reversals.record(Group(name="web", gid=5, meta=REVERSE), GroupLine("web", 4, ("ada",)))
    for found in ("bob", "eve"):
        edited = Group(name="web", gid=6, members=[], meta=REVERSE)
        await reversals.record(edited, GroupLine("web", 5, (found,)))
        before = {"gid": 4, "members": ["bob"], "membership": "inclusive"}
        assert notes.recorded == {"group#web": Group(name="web", **before)}


async def test_what_was_not_there_needs_no_more_than_to_go():
    notes = Notes()
    reversals = Reversals(notes, undoing=True)
    await reversals.record(Group(name="web", meta=REVERSE), None)
    await reversals.record(Group(name="web", members=["a"], meta=REVERSE), GroupLine("web", 5))
    assert notes.recorded == {"group#web": Group(name="web", ensure="absent")}


async def test_what_has_another_owner_now_is_let_go(autojump_clock):
    notes = Notes()
    notes.recorded["undoable#a"] = undoes = Undoable(name="a", ensure="absent")
    async with running(Undoable(name="new/a"), run_store=notes) as story:
        await story.converged()
    assert not undoes.script.checks
    assert notes.forgotten == ["undoable#a"]


async def test_what_was_renamed_is_undone_when_its_new_name_leaves(autojump_clock):
    notes = Notes()
    notes.recorded["undoable#a"] = undoes = Undoable(name="a", ensure="absent")
    async with running(undoable("new/a"), run_store=notes) as story:
        await story.converged()
        assert notes.forgotten == ["undoable#a"]
        handed = notes.recorded["undoable#new/a"]
        story.engine.reload(graph_of([]))
        await story.until(lambda: story.all(Reversed))
    assert not undoes.script.checks
    assert handed.script.applies
    assert not notes.recorded


@pytest.mark.parametrize(
    "options", [RunOptions(noop=True), RunOptions(partial=True), RunOptions(monitor_only=True)]
)
async def test_a_run_that_is_not_to_change_the_rest_undoes_nothing(autojump_clock, options):
    notes = Notes()
    notes.recorded["undoable#a"] = undoes = Undoable(name="a", ensure="absent")
    story = Story(graph_of([scripted("b")]), options, run_store=notes)
    with trio.fail_after(30):
        await story.engine.run()
    assert not undoes.script.checks
    assert not notes.forgotten
    assert [event.ref for event in story.all(Checked)] == ["scripted#b"]
