"""At the end of a run that ends by itself, what a change may have undone is looked at once more."""

from __future__ import annotations

from typing import ClassVar

from reactor.engine.events import Cause, Ended, Result
from reactor.engine.options import RunOptions
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import running


class Undone(Scripted, kind="undone"):
    """Notes when an observation has ended."""

    ended: ClassVar[list[str]] = []

    async def observe(self) -> bool:
        found = await super().observe()
        self.ended.append(self.name)
        return found


class Undoer(Scripted, kind="undoer"):
    """Its change may have undone the other."""

    may_undo: ClassVar[frozenset[str]] = frozenset({"undone"})


class Overwritten(Scripted, kind="overwritten"):
    """Can't undo the other in turn."""


class Overwriter(Scripted, kind="overwriter"):
    """Its change writes to what the other manages."""

    may_overwrite: ClassVar[frozenset[str]] = frozenset({"overwritten"})
    victim: ClassVar[Overwritten]

    async def _repair(self) -> None:
        await super()._repair()
        self.victim.script.drifted = True


async def test_what_another_kind_has_overwritten_is_repaired_before_the_run_ends(autojump_clock):
    victim = Overwriter.victim = Overwritten(name="a")
    overwriter, subscriber = Overwriter(name="b"), scripted("c", drifted=False, subscribe="overwritten#a")
    victim.script.drifted = False
    async with running(victim, overwriter, subscriber, options=RunOptions(watch=False)) as story:
        await story.until(lambda: story.all(Ended))
    assert [check.result for check in story.checks("overwritten#a")] == [Result.OK, Result.CHANGED]
    assert story.checks("overwritten#a")[-1].causes == Cause.DRIFT
    assert len(subscriber.script.refreshes) == 1
    assert story.all(Ended)[0].counts[Result.FAILED] == 0


async def test_a_stop_lets_the_last_look_end(autojump_clock):
    undone, undoer = Undone(name="a"), Undoer(name="b", require="undone#a")
    undone.script.drifted, undone.script.takes = False, 5
    async with running(undone, undoer, options=RunOptions(watch=False)) as story:
        await undone.script.begun(times=2)
        story.engine.stop()
        await story.until(lambda: story.all(Ended))
    assert undone.ended == ["a", "a"]
