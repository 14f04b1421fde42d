"""A watcher that dies is started again: at once, or after a wait if it does not live long; nothing that happens meanwhile is lost."""

from __future__ import annotations

import errno
import os

import pytest
import trio

from reactor.engine.events import WatcherChanged
from reactor.resource.watch import Watch, Watcher, WatchState
from reactor.testing.scripted import scripted
from reactor.testing.story import running

FOR_EVER = 10**6


class FrailWatch(Watch):
    """What only `FrailWatcher` listens to."""


class FrailWatcher(Watcher):
    """Lives for a number of seconds, the next of ``lives``; after them, ``usual`` seconds."""

    serves = FrailWatch

    def __init__(self, sink):
        super().__init__(sink)
        type(self).begun.append(trio.current_time())
        self.life = type(self).lives.pop(0) if type(self).lives else type(self).usual

    async def arm(self, watch, vertex):
        pass

    def disarm(self, watch, vertex):
        pass

    async def run(self):
        await trio.sleep(self.life)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def close(self):
        pass


@pytest.fixture
def frail():
    def lives(*lives, usual):
        FrailWatcher.begun, FrailWatcher.lives, FrailWatcher.usual = [], list(lives), usual
        return {FrailWatch: FrailWatcher}

    return lives


def deaths(story):
    """What is said of each."""
    return [event.reason for event in story.all(WatcherChanged) if event.state is WatchState.DOWN]


async def test_a_watcher_that_dies_each_time_it_is_armed_is_started_less_and_less_often(
    autojump_clock, frail
):
    resource = scripted("a").watch_for(FrailWatch())
    async with running(resource, watchers=frail(usual=0.001)) as story:
        await trio.sleep(60)
    assert 3 < len(FrailWatcher.begun) < 15
    assert len(deaths(story)) == len(FrailWatcher.begun)


async def test_one_that_has_lived_for_a_while_is_started_at_once(autojump_clock, frail):
    resource = scripted("a").watch_for(FrailWatch())
    async with running(resource, watchers=frail(1000, usual=FOR_EVER)):
        start = trio.current_time()
        await trio.sleep(1001)
    assert [round(begun - start, 3) for begun in FrailWatcher.begun] == [0, 1000]


async def test_what_changes_while_no_watcher_listens_is_found_when_one_does(autojump_clock, frail):
    resource = scripted("a", drifted=False).watch_for(FrailWatch())
    async with running(resource, watchers=frail(0.01, 0.01, 0.01, 0.01, 0.01, 0.01, usual=FOR_EVER)) as story:
        await story.until(lambda: len(FrailWatcher.begun) == 6)
        await story.until(lambda: len(deaths(story)) == 6)
        await story.rest()
        resource.script.drifted = True
        await trio.sleep(30)
    assert len(FrailWatcher.begun) == 7
    assert resource.script.applies


async def test_the_limit_of_open_files_comes_with_what_to_do(autojump_clock, frail):
    async with running(scripted("a").watch_for(FrailWatch()), watchers=frail(1, usual=FOR_EVER)) as story:
        await story.until(lambda: deaths(story))
    assert "Too many open files" in deaths(story)[0]
    assert "ulimit -n" in deaths(story)[0]
