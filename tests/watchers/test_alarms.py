"""Marks at the times that resources set, on a jumping clock."""

import math

import pytest
import trio
import trio.testing
from watch_recorder import Recorder

from reactor.watchers.alarms import Alarm, AlarmWatch, AlarmWatcher


@pytest.fixture
def sink() -> Recorder:
    return Recorder()


@pytest.fixture
async def alarms(sink, nursery) -> AlarmWatcher:
    watcher = AlarmWatcher(sink)
    nursery.start_soon(watcher.run)
    return watcher


async def test_a_vertex_is_marked_once_at_the_time_that_was_set(alarms, sink, autojump_clock):
    alarm = Alarm()
    await alarms.arm(AlarmWatch(alarm), 3)
    await trio.sleep(1000)
    assert not sink.marks
    alarm.set(trio.current_time() + 100)
    await trio.sleep(99)
    assert not sink.marks
    await trio.sleep(2)
    assert sink.marked == {3}
    await trio.sleep(1000)
    assert len(sink.marks) == 1


async def test_another_time_takes_the_place_of_the_earlier_one(alarms, sink, autojump_clock):
    alarm = Alarm()
    alarm.set(trio.current_time() + 10)
    await alarms.arm(AlarmWatch(alarm), 0)
    await trio.testing.wait_all_tasks_blocked()
    alarm.set(trio.current_time() + 50)
    await trio.sleep(20)
    assert not sink.marks
    alarm.set(math.inf)
    await trio.sleep(1000)
    assert not sink.marks


async def test_each_vertex_has_its_own_and_a_disarmed_one_is_silent(alarms, sink, autojump_clock):
    for vertex, wait in enumerate((30, 10, 20)):
        alarm = Alarm()
        alarm.set(trio.current_time() + wait)
        await alarms.arm(AlarmWatch(alarm), vertex)
        if vertex == 2:
            alarms.disarm(AlarmWatch(alarm), vertex)
    await trio.sleep(15)
    assert sink.marked == {1}
    await trio.sleep(20)
    assert sink.marked == {0, 1}
