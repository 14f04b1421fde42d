"""Marks at times of the clock of the host, by a timer of the kernel."""

import math
import os
import time

import pytest
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder

from reactor.watchers.wall_clock import WallAlarm, WallAlarmWatch, WallClockWatcher


@pytest.fixture
def sink():
    return Recorder()


@pytest.fixture
async def clock(sink, nursery):
    watcher = WallClockWatcher(sink)
    nursery.start_soon(watcher.run)
    yield watcher
    nursery.cancel_scope.cancel()
    watcher.close()


async def armed(clock, vertex, at):
    alarm = WallAlarm()
    alarm.set(at)
    await clock.arm(WallAlarmWatch(alarm), vertex)
    return alarm


async def test_a_vertex_is_marked_once_when_its_time_has_come(clock, sink):
    at = time.time() + 0.02
    alarm = await armed(clock, 3, at)
    await sink.until(lambda: sink.marks)
    assert time.time() >= at
    assert alarm.at == math.inf
    await wait_all_tasks_blocked(0.01)
    assert sink.marks == [(3, 0.0)]
    assert not_ringing(clock)


def not_ringing(clock):
    """Whether the timer of the kernel is silent."""
    try:
        os.read(clock._timer._fd, 8)
    except BlockingIOError:
        return True
    return False


async def test_a_time_that_has_passed_marks_at_once(clock, sink):
    await armed(clock, 0, time.time() - 1000)
    await sink.until(lambda: sink.marks)


async def test_the_earliest_rings_and_the_others_keep_their_times(clock, sink):
    later = await armed(clock, 1, time.time() + 1000)
    await armed(clock, 0, time.time() + 0.01)
    await armed(clock, 2, math.inf)
    await sink.until(lambda: sink.marks)
    await wait_all_tasks_blocked(0.01)
    assert sink.marked == {0}
    later.set(time.time())
    await sink.until(lambda: sink.marked == {0, 1})


@pytest.mark.parametrize("at", [math.inf, 1e30, 4e9])
async def test_a_time_that_is_far_away_or_never_comes_does_not_ring(clock, sink, at):
    alarm = await armed(clock, 0, time.time() + 1000)
    alarm.set(at)
    await wait_all_tasks_blocked(0.01)
    assert not sink.marks
    assert not_ringing(clock)


async def test_what_is_disarmed_or_has_another_alarm_is_marked_no_more(clock, sink):
    former = await armed(clock, 0, time.time() + 1000)
    present = await armed(clock, 0, time.time() + 1000)
    clock.disarm(WallAlarmWatch(former), 0)
    present.set(time.time())
    await sink.until(lambda: sink.marks)
    clock.disarm(WallAlarmWatch(present), 0)
    present.set(time.time())
    await wait_all_tasks_blocked(0.01)
    assert len(sink.marks) == 1


async def test_a_closed_timer_frees_its_descriptor_and_takes_no_time_any_more(sink):
    watcher = WallClockWatcher(sink)
    descriptor = watcher._timer._fd
    assert not os.get_inheritable(descriptor)
    watcher.close()
    watcher.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    await watcher.arm(WallAlarmWatch(WallAlarm()), 0)
