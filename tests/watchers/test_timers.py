"""Marks at regular times, on a jumping clock."""

from itertools import pairwise
from time import perf_counter

import pytest
import trio
import trio.testing
from watch_recorder import Recorder

from reactor.resource.time_slice import SLICE
from reactor.resource.watch import TimerWatch
from reactor.watchers.timers import TimerWatcher


class TimedRecorder(Recorder):
    """Also keeps when each vertex was marked."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[int, list[float]] = {}

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        self.times.setdefault(vertex, []).append(trio.current_time())
        super().mark(vertex, delay)


@pytest.fixture
def sink() -> TimedRecorder:
    return TimedRecorder()


@pytest.fixture
async def timers(sink: TimedRecorder, nursery) -> TimerWatcher:
    watcher = TimerWatcher(sink)
    nursery.start_soon(watcher.run)
    return watcher


async def test_a_vertex_is_marked_every_interval_without_drift(
    timers: TimerWatcher, sink: TimedRecorder, autojump_clock
):
    start = trio.current_time()
    await timers.arm(TimerWatch(10), 0)
    await trio.sleep(1000.5)
    assert [time - start for time in sink.times[0]] == pytest.approx([10 * n for n in range(1, 101)])


async def test_each_vertex_has_its_own_interval(timers: TimerWatcher, sink: TimedRecorder, autojump_clock):
    await timers.arm(TimerWatch(60), 0)
    await trio.sleep(1)
    await timers.arm(TimerWatch(1), 1)
    await trio.sleep(60)
    assert len(sink.times[0]) == 1
    assert len(sink.times[1]) == 60


async def test_one_armed_later_but_due_earlier_is_not_late(
    timers: TimerWatcher, sink: TimedRecorder, autojump_clock
):
    await timers.arm(TimerWatch(1000), 0)
    await trio.sleep(1)
    await timers.arm(TimerWatch(2), 1)
    await trio.sleep(2.5)
    assert sink.marked == {1}


async def test_arming_twice_marks_once(timers: TimerWatcher, sink: TimedRecorder, autojump_clock):
    await timers.arm(TimerWatch(10), 0)
    await timers.arm(TimerWatch(10), 0)
    await trio.sleep(11)
    assert sink.marks == [(0, 0.0)]


async def test_times_that_passed_while_nothing_ran_become_one_mark(timers, sink, autojump_clock):
    start = trio.current_time()
    await timers.arm(TimerWatch(10), 0)
    await trio.testing.wait_all_tasks_blocked()
    autojump_clock.jump(95)
    await trio.sleep(10)
    assert [time - start for time in sink.times[0]] == pytest.approx([95, 100])


async def test_many_of_one_interval_do_not_fall_due_at_once(
    timers: TimerWatcher, sink: TimedRecorder, autojump_clock
):
    start = trio.current_time()
    for vertex in range(1000):
        await timers.arm(TimerWatch(100), vertex)
    await trio.sleep(101)
    first = [times[0] - start for times in sink.times.values()]
    assert len(first) == 1000
    assert min(first) >= 95
    assert max(first) <= 100.001
    assert max(sum(low <= time < low + 1 for time in first) for low in range(95, 100)) < 300


async def test_a_few_of_one_interval_are_spread_widely(
    timers: TimerWatcher, sink: TimedRecorder, autojump_clock
):
    start = trio.current_time()
    for vertex in range(4):
        await timers.arm(TimerWatch(100), vertex)
    await trio.sleep(101)
    first = sorted(times[0] - start for times in sink.times.values())
    gaps = [after - before for before, after in pairwise([95.0, *first])]
    assert max(gaps) < 2, "no gap is twice as long as four even ones are"


async def test_without_timers_nothing_happens(timers: TimerWatcher, sink: TimedRecorder, autojump_clock):
    await trio.sleep(80_000)
    assert not sink.marks


@pytest.mark.parametrize(("seconds", "least", "most"), [(0.0, 0, 20), (SLICE, 40, 60)])
async def test_others_get_a_turn_when_a_slice_is_used_up_and_not_at_each_mark(nursery, seconds, least, most):
    class Slow(Recorder):
        """Takes its time to mark."""

        def mark(self, vertex: int, delay: float = 0.0) -> None:
            super().mark(vertex, delay)
            ends = perf_counter() + seconds
            while perf_counter() < ends:
                pass

    async def others() -> None:
        while True:
            turns.append(len(sink.marks))
            await trio.lowlevel.checkpoint()

    sink, turns = Slow(), []
    watcher = TimerWatcher(sink)
    for vertex in range(50):
        await watcher.arm(TimerWatch(1000), vertex)
    nursery.start_soon(others)
    await watcher._mark_due(trio.current_time() + 1001)
    nursery.cancel_scope.cancel()
    assert len(sink.marks) == 50
    assert least <= len(turns) <= most
