"""What is a fight with somebody else, and what is only drift."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise

import pytest
import trio

from reactor.engine.delay_queue import DelayQueue
from reactor.engine.events import Cause, Flapping
from reactor.engine.flapping import FlapDetector
from reactor.engine.retries import Retries
from reactor.testing.scripted import scripted
from reactor.testing.story import running

HOUR = 3600.0


def told_after(took, calm, repairs=200):
    """How many repairs that each take so long, with so much time between them, it takes to call them a fight."""
    fights, now = FlapDetector(), 0.0
    for number in range(1, repairs + 1):
        now += took
        flare = fights.repaired(0, ("repaired",), took, now)
        if flare is not None:
            assert flare.actions == {"repaired": number}
            return number
        now += calm
    return None


@pytest.mark.parametrize(
    ("took", "calm", "repairs"),
    [
        (0.001, 0.001, 50),
        (0.001, 0.15, 50),
        (0.3, 0.3, 18),
        (5, 5, 10),
        (60, 60, 10),
        (60, 119, 10),
    ],
)
def test_flapping_is_reported_after_so_many_repairs(took, calm, repairs):
    assert told_after(took, calm) == repairs


@pytest.mark.parametrize(
    ("took", "calm"),
    [(0.001, 1), (0.001, 5 * HOUR), (1, 3), (5, 20), (60, 121), (60, 24 * HOUR)],
)
def test_what_is_repaired_now_and_then_is_no_fight(took, calm):
    assert told_after(took, calm) is None


def test_of_two_that_undo_each_other_the_slower_one_is_reported():
    assert (told_after(took=30, calm=2), told_after(took=2, calm=30)) == (10, None)


def test_flapping_that_calmed_down_is_reported_again_when_it_begins_again():
    fights, now, news = FlapDetector(), 0.0, 0
    for number in range(30):
        flare = fights.repaired(0, (), 5, now)
        news += flare is not None and flare.actions is not None
        now += HOUR if number == 14 else 10
    assert news == 2


async def test_two_slow_resources_that_undo_each_other_are_reported(autojump_clock):
    a, b = scripted("a", takes=2.0), scripted("b", takes=2.0, drifted=False)
    async with running(a, b) as story, trio.open_nursery() as nursery:

        async def undo(one, other):
            """What ``one`` does to the world, the other finds changed."""
            for seen in range(100):
                await story.until(lambda n=seen: len(one.script.applies) > n)
                other.script.drifted = True
                story.drift(other.ref)

        nursery.start_soon(undo, a, b)
        nursery.start_soon(undo, b, a)
        with trio.fail_after(120):
            await story.until(lambda: {event.ref for event in story.all(Flapping)} == {a.ref, b.ref})
        assert len(a.script.applies) < 20
        nursery.cancel_scope.cancel()


async def test_work_that_is_looked_for_on_a_clock_is_no_fight_however_long_it_takes(autojump_clock):
    worker = scripted("worker", takes=4.0, meta={"poll": "10s"})
    async with running(worker) as story:
        for runs in range(30):
            await story.until(lambda n=runs: len(worker.script.applies) > n)
            worker.script.drifted = True
            await trio.sleep(10)
            story.drift(worker.ref)
        await story.rest()
    assert not story.all(Flapping)


async def test_events_of_what_is_as_desired_are_no_fight(autojump_clock):
    a = scripted("a", drifted=False)
    async with running(a) as story:
        for _ in range(80):
            checks = len(story.checks(a.ref))
            story.drift(a.ref)
            await story.until(lambda n=checks: len(story.checks(a.ref)) > n)
        await story.rest()
    assert not story.all(Flapping)


def test_a_streak_has_ended_after_ten_seconds_or_ten_times_its_last_repair():
    for took, calm in ((0.001, 10.0), (2.0, 20.0)):
        detector = FlapDetector()
        detector.repaired(0, ("repaired",), took, 100.0)
        detector.repaired(1, ("repaired",), 0.001, 100.0 + calm)
        assert 0 in detector._streaks
        detector.repaired(1, ("repaired",), 0.001, 100.1 + calm)
        assert 0 not in detector._streaks


def test_how_often_it_drifted_in_a_row_is_counted_from_the_last_time_it_stayed():
    detector = FlapDetector()
    assert [detector.drifted_again(3) for _ in range(3)] == [1, 2, 3]
    detector.stayed_ok(3)
    assert detector.drifted_again(3) == 1
    detector.forget([3, 4])
    assert not detector.again


def test_flapping_is_slowed_down_to_one_repair_a_second_and_no_further():
    fights, now, waits = FlapDetector(), 0.0, []
    for _ in range(200):
        flare = fights.repaired(0, ("repaired",), 0.001, now)
        if flare is not None:
            waits.append(flare.wait)
        now += 0.001 + (flare.wait if flare is not None else 0.0)
    assert waits[0] == pytest.approx(0.01, rel=0.1)
    assert waits == sorted(waits[:4]) + waits[4:]
    assert max(waits) == 1.0
    assert min(waits[20:]) >= 0.9


@pytest.mark.parametrize(("rate", "fight", "start"), [(60.0, 0.5, 60.0), (0.5, 60.0, 60.0)])
def test_of_a_rate_and_flapping_the_later_one_counts(rate, fight, start):
    delay_queue = DelayQueue(Retries(0, random.Random(1)))
    delay_queue.throttle_until(0, rate)
    delay_queue.pace(0, fight)
    assert delay_queue.earliest(0, 0.1, failed=False) == start
    assert delay_queue.earliest(0, 100.0, failed=False) == 100.0
    delay_queue.forget(0)
    assert delay_queue.earliest(0, 0.1, failed=False) == 0.1


def test_what_rests_is_named_once_when_its_rest_is_over_also_when_that_was_put_off():
    delay_queue = DelayQueue(Retries(0, random.Random(1)))
    delay_queue.pace(0, 1.0)
    assert delay_queue.rests(0, 0.0)
    delay_queue.pace(0, 2.0)
    assert delay_queue.rests(0, 0.5)
    assert list(delay_queue.due(1.5)) == []
    assert list(delay_queue.due(2.0)) == [(0, Cause.DRIFT)]
    assert list(delay_queue.due(9.0)) == []
    assert not delay_queue.rests(0, 2.0)


async def test_what_drifts_again_and_again_is_repaired_every_second(autojump_clock):
    a = scripted("a")
    async with running(a) as story:
        for _ in range(80):
            a.script.drifted = True
            applies = len(a.script.applies)
            story.drift(a.ref)
            await story.until(lambda n=applies: len(a.script.applies) > n)
        times = a.script.applies[-10:]
    assert all(0.9 <= after - before <= 1.01 for before, after in pairwise(times))


def test_what_drifted_once_takes_no_memory_when_it_has_been_calm():
    detector = FlapDetector()
    tracemalloc.start()
    try:
        for vertex in range(5000):
            detector.repaired(vertex, ("repaired",), 0.001, float(vertex))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 100_000, "each vertex took a kilobyte"
