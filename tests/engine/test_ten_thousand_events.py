"""Something else fights over one resource, ten thousand times: that costs little, and the last word is ours."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
import trio
from engine_worlds import Unhurried

from reactor.engine.events import Flapping
from reactor.engine.options import RunOptions
from reactor.journal.history import History
from reactor.testing.scripted import Scripted
from reactor.testing.story import Story, graph_of

EVENTS = 10_000


class Recorded(Story):
    """A story that a journal hears too."""

    def _on_event(self, event):
        super()._on_event(event)
        self.journal.record(event)


async def test_flapping_of_ten_thousand_events_is_bounded_and_the_last_is_followed_by_a_check(
    autojump_clock, tmp_path
):
    journal = Unhurried.open(str(tmp_path), "/site.yaml", pytest.fail)
    contested = Scripted(name="a")
    story = Recorded(graph_of([contested]), RunOptions(watch=True, audit_interval=None), run_store=journal)
    story.journal = journal
    used = time.process_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.run)
        await nursery.start(story.engine.run)
        await contested.script.begun()
        for _ in range(EVENTS):
            contested.script.drifted = True
            story.drift("scripted#a")
            await trio.sleep(0.001)
        last = trio.current_time()
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    journal.close()
    used = time.process_time() - used
    assert contested.script.checks[-1] >= last - 0.001, "the last event is followed by a check"
    assert not contested.script.drifted
    repairs = len(contested.script.applies)
    assert repairs < 100, "50 at full speed, then about one a second"
    assert len(contested.script.checks) <= repairs + 10
    assert len(story.all(Flapping)) == 1
    with closing(History(str(tmp_path))) as history:
        kept = list(history.entries())
    assert len(kept) <= repairs + 10, "the journal grows with the repairs, not with the events"
    assert used < 10, "milliseconds of work, not one for each event"
