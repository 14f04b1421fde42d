"""docs/engine.md says what happens to a pending refresh; here each row of that table is a story."""

from pathlib import Path

import pytest
import trio
from page_tables import rows

from reactor.testing.scripted import scripted
from reactor.testing.story import graph_of, running

PAGE = (Path(__file__).parents[2] / "docs" / "engine.md").read_text()
TABLE = dict(rows(PAGE, "the subscriber"))
ELSEWHERE = {
    "changes nothing (noop, mode: warn)": "tests/engine/test_detect_only.py",
    "is changed by it, but a health check is not ok": "tests/health/test_health_engine.py",
    "has quiet": "tests/engine/test_debounce.py",
    "is left out by --only or --exclude": "tests/cli/test_state_of_runs.py",
    "is killed, with reactor and the whole host": "tests/crash",
}


class Tale:
    """``above``, which drifts, and ``below``, which subscribes to it, with what else ``below`` is to have."""

    def __init__(self, **properties):
        self.above, self.other = scripted("above", drifted=False), scripted("other", drifted=False)
        self.below = self.new_below(drifted=False, **properties)

    def new_below(self, **properties):
        return scripted("below", subscribe=["scripted#above"], **properties)

    def change(self, story):
        self.above.script.drifted = True
        story.drift(self.above.ref)

    @property
    def refreshes(self):
        return len(self.below.script.refreshes)


async def fails_with_it(tale, story):
    tale.below.script.failures = 3
    tale.change(story)
    await story.until(lambda: story.checks(tale.below.ref)[-1].error)
    assert tale.refreshes == 0
    await story.converged(times=2)
    assert len(tale.below.script.checks) == 1 + 3 + 1


async def is_blocked(tale, story):
    tale.other.script.failures = 1
    story.drift(tale.other.ref)
    await story.until(lambda: story.result(tale.below.ref) == "blocked")
    tale.change(story)
    await story.until(lambda: tale.above.script.applies)
    assert tale.refreshes == 0
    await story.converged(times=2)


async def is_paused(tale, story):
    vertex = story.engine.vertex_table.number(tale.below.ref)
    story.engine.dispatcher.pause(vertex)
    tale.change(story)
    await trio.sleep(60)
    assert tale.refreshes == 0
    story.engine.dispatcher.unpause(vertex)
    await story.converged(times=2)


async def is_edited(tale, story):
    tale.below.script.failures = float("inf")
    tale.change(story)
    await story.until(lambda: story.checks(tale.below.ref)[-1].error)
    tale.below = tale.new_below(alias="edited")
    tale.below.script.drifted = False
    story.engine.reload(graph_of([tale.above, tale.other, tale.below]))
    await story.converged(times=2)


async def leaves_the_manifest(tale, story):
    tale.below.script.failures = float("inf")
    tale.change(story)
    await story.until(lambda: story.checks(tale.below.ref)[-1].error)
    story.engine.reload(graph_of([tale.above, tale.other]))
    tale.below.script.failures = 0
    await trio.sleep(600)
    story.engine.reload(graph_of([tale.above, tale.other, tale.below]))
    await story.rest()


async def is_being_refreshed_again(tale, story):
    tale.below.script.takes = 10
    tale.change(story)
    await tale.below.script.begun(2)
    tale.change(story)
    await story.converged(times=2)


STORIES = {
    "fails with it": (fails_with_it, {}, 1),
    "is blocked": (is_blocked, {"require": ["scripted#other"]}, 1),
    "is paused": (is_paused, {}, 1),
    "is edited": (is_edited, {}, 1),
    "leaves the manifest": (leaves_the_manifest, {}, 0),
    "is being refreshed while another change comes": (is_being_refreshed_again, {}, 2),
}


def test_every_row_of_the_page_is_played_somewhere():
    assert set(TABLE) == set(STORIES) | set(ELSEWHERE)
    assert all((Path(__file__).parents[2] / place).exists() for place in ELSEWHERE.values())


@pytest.mark.parametrize(("story_of", "properties", "refreshes"), STORIES.values(), ids=STORIES)
async def test_a_refresh_that_is_pending_is_made(story_of, properties, refreshes, autojump_clock):
    tale = Tale(**properties)
    async with running(tale.above, tale.other, tale.below) as story:
        await story.converged()
        await story_of(tale, story)
    assert tale.refreshes == refreshes
