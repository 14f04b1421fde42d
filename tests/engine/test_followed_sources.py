"""A watcher that follows its source has what it hears checked in the task that hears, and nobody waits for that."""

from __future__ import annotations

from collections import deque

import pytest
import trio

from reactor.engine.events import Result, WatcherChanged
from reactor.resource.watch import Watch, Watcher, WatchState
from reactor.testing.scripted import Scripted
from reactor.testing.story import running


class RadioWatch(Watch):
    """What only a `RadioWatcher` listens to."""


class RadioWatcher(Watcher):
    """Hears what the test says: the number of a vertex is marked, an exception is raised."""

    serves = RadioWatch
    latest = None
    started = 0

    def __init__(self, sink):
        super().__init__(sink)
        self._said = deque()
        self._new_data = trio.Event()
        self.heard_by = []
        self.is_closed = self.was_asked_too_late = False
        type(self).latest = self
        type(self).started += 1

    def say(self, *words):
        self._said.extend(words)
        self._new_data.set()

    async def arm(self, watch, vertex):
        pass

    def disarm(self, watch, vertex):
        pass

    async def run(self):
        await self.sink.follow(self._wait, self._hear)

    def close(self):
        self.is_closed = True

    async def _wait(self):
        self.was_asked_too_late |= self.is_closed
        await self._new_data.wait()
        self._new_data = trio.Event()

    def _hear(self):
        self.heard_by.append(trio.lowlevel.current_task())
        while self._said:
            word = self._said.popleft()
            if isinstance(word, Exception):
                raise word
            self.sink.mark(word)


@pytest.fixture(autouse=True)
def radio():
    RadioWatcher.latest, RadioWatcher.started = None, 0


class Witness(Scripted):
    """Notes which task looks at it."""

    async def observe(self):
        self.__dict__.setdefault("tasks", []).append(trio.lowlevel.current_task())
        return await super().observe()


def scripted(name, takes=0.0, kind=Scripted, **properties):
    resource = kind(name=name, **properties).watch_for(RadioWatch())
    resource.script.drifted, resource.script.takes = False, takes
    return resource


def listening(*resources):
    return running(*resources, watchers={RadioWatch: RadioWatcher})


async def test_what_is_noticed_is_checked_in_the_task_that_noticed(autojump_clock):
    a, b = scripted("a", kind=Witness), scripted("b", kind=Witness)
    async with listening(a, b) as story:
        await story.converged()
        a.script.drifted = b.script.drifted = True
        RadioWatcher.latest.say(0, 1)
        await story.until(lambda: a.script.applies and b.script.applies)
        hearing = RadioWatcher.latest.heard_by[-1]
    assert [a.__dict__["tasks"][-1], b.__dict__["tasks"][-1]] == [hearing, hearing]


async def test_a_check_that_has_to_wait_keeps_nothing_from_being_noticed(autojump_clock):
    a, b = scripted("a"), scripted("b")
    async with listening(a, b) as story:
        await story.converged()
        a.script.takes = 10
        start = trio.current_time()
        for moment, vertex in ((0, 0), (1, 1), (2, 1)):
            await trio.sleep(start + moment - trio.current_time())
            RadioWatcher.latest.say(vertex)
        await story.converged(times=2)
    assert [round(time - start) for time in b.script.checks[1:]] == [1, 2]
    assert [round(time - start) for time in a.script.checks[1:]] == [0]
    assert len({id(task) for task in RadioWatcher.latest.heard_by}) == 2, "the one that came to help goes on"


async def test_a_watcher_that_dies_takes_no_check_with_it_but_of_what_it_serves(autojump_clock):
    a, b = scripted("a"), Scripted(name="b", subscribe=["scripted#a"])
    b.script.drifted = False
    async with listening(a, b) as story:
        await story.converged()
        a.script.drifted, b.script.takes = True, 5
        RadioWatcher.latest.say(0)
        await b.script.begun(times=2)
        broken = RadioWatcher.latest
        broken.say(OSError("the radio is broken"))
        await story.converged(times=2)
    assert broken.is_closed
    assert not broken.was_asked_too_late
    assert RadioWatcher.started == 2
    assert len(b.script.checks) == 2, "the check that ran in its task was let end"
    assert [event.result for event in story.checks("scripted#b")] == [Result.OK, Result.CHANGED]


async def test_a_user_who_can_not_notice_is_started_again_and_noticed_again(autojump_clock):
    a = scripted("a")
    async with listening(a) as story:
        await story.converged()
        RadioWatcher.latest.say(0, ValueError("noise"))
        await story.until(lambda: RadioWatcher.started == 2)
        await story.converged(times=2)
        a.script.drifted = True
        RadioWatcher.latest.say(0)
        await story.until(lambda: a.script.applies)
    assert any("noise" in event.reason for event in story.all(WatcherChanged))


async def test_a_check_that_is_voided_in_the_task_that_noticed_leaves_it_listening(autojump_clock):
    a = scripted("a")
    async with listening(a) as story:
        await story.converged()
        a.script.takes = 5
        RadioWatcher.latest.say(0)
        await a.script.begun(times=2)
        story.engine.dispatcher.hold(0)
        await trio.sleep(1)
        a.script.takes = 0
        story.engine.dispatcher.release(0)
        await story.converged(times=2)
        a.script.drifted = True
        RadioWatcher.latest.say(0)
        await story.until(lambda: a.script.applies)
    assert RadioWatcher.started == 1


async def test_a_check_that_is_voided_there_and_pending_at_once_is_made_again(autojump_clock):
    """As by a reload, which releases what it held before the voided check has ended."""
    a = scripted("a")
    async with listening(a) as story:
        await story.converged()
        a.script.drifted, a.script.takes = True, 5
        RadioWatcher.latest.say(0)
        await a.script.begun(times=2)
        await trio.sleep(1)
        story.engine.dispatcher.hold(0)
        story.engine.dispatcher.release(0)
        await story.until(lambda: a.script.applies)
    assert len(a.script.checks) == 3, "before, voided, and anew"


class DeafWatcher(RadioWatcher):
    """Finds, while it arms, that it can only poll."""

    async def arm(self, watch, vertex):
        self.sink.report(WatchState.POLLING, "no reception")


async def test_a_watcher_that_can_only_poll_does_not_count_as_armed(autojump_clock):
    async with running(scripted("a"), watchers={RadioWatch: DeafWatcher}) as story:
        await story.converged()
    assert [event.state for event in story.all(WatcherChanged)] == [WatchState.POLLING]
