"""At the end of a run that ends by itself, what a change may have undone is looked at once more."""

from __future__ import annotations

from typing import ClassVar

from reactor.engine.events import Ended
from reactor.engine.options import RunOptions
from reactor.testing.scripted import Scripted
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


async def test_a_stop_lets_the_last_look_end(autojump_clock):
    undone, undoer = Undone(name="a"), Undoer(name="b", require="undone#a")
    undone.script.drifted, undone.script.takes = False, 5
    async with running(undone, undoer, options=RunOptions(watch=False)) as story:
        await undone.script.begun(times=2)
        story.engine.stop()
        await story.until(lambda: story.all(Ended))
    assert undone.ended == ["a", "a"]
