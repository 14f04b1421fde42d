"""How often events are read when they are no news."""

from pathlib import Path

import trio
from watch_recorder import Recorder, Watching

from reactor.watchers.pending_writes import BURST, EVENT_REFILL, PAUSE, REFILL, WINDOW, ReadThrottle


def reads_in(throttle: ReadThrottle, seconds: float, every: float, marked=lambda number: ()) -> int:
    """How often is read when there is something to read ``every`` so many seconds."""
    now, reads = 0.0, 0
    while now < seconds:
        throttle.note(marked(reads), now)
        now += every + throttle.pause
        reads += 1
    return reads


def test_events_without_news_are_soon_read_together():
    assert reads_in(ReadThrottle(), 10, 1 / 3000) <= BURST + 10 * (REFILL + 1 / PAUSE)


def test_one_vertex_that_is_marked_without_end_is_soon_no_news():
    reads = reads_in(ReadThrottle(), 10, 1 / 3000, lambda _: {7})
    assert reads <= BURST + 10 * (REFILL + 1 / PAUSE + 4 / WINDOW)


def test_news_is_read_at_once_among_three_reads_without():
    reads = reads_in(ReadThrottle(), 10, 1 / 3000, lambda number: () if number % 4 else {number})
    assert reads >= 29_999


def test_no_event_waits_longer_than_a_tenth_of_a_second_in_a_flood():
    throttle = ReadThrottle()
    reads_in(throttle, 10, 1 / 3000)
    assert 0 < throttle.pause <= 0.1


def test_a_rare_event_is_read_at_once_after_a_flood():
    throttle = ReadThrottle()
    reads_in(throttle, 10, 1 / 3000)
    throttle.note((), 11.0)
    assert throttle.pause == 0


async def test_what_is_ours_is_noticed_in_a_flood(watch: Watching, tmp_path: Path, sink: Recorder):
    ours = tmp_path / "ours"
    await watch.arm(ours)
    now = trio.current_time()
    for _ in range(BURST + 1):  # faster than any machine reads
        watch.watcher._throttle.note((), now)
    assert watch.watcher._throttle.pause
    ours.write_text("x")
    await sink.until(lambda: sink.marks)


def test_a_hundred_reads_at_once_are_allowed_and_then_it_pauses():
    throttle = ReadThrottle()
    for number in range(BURST):
        assert throttle.pause == 0, number
        throttle.note((), 0.0)
    assert throttle.pause == PAUSE


def test_however_long_a_flood_was_a_read_is_allowed_again_after_a_hundredth_of_a_second():
    throttle = ReadThrottle()
    for _ in range(10 * BURST):
        throttle.note((), 5.0)
    throttle.note((), 5.0 + 1.5 / REFILL)
    assert throttle.pause == PAUSE
    throttle.note((), 5.0 + 3.6 / REFILL)
    assert throttle.pause == 0


def test_a_long_calm_saves_no_more_than_one_burst():
    throttle = ReadThrottle()
    throttle.note((), 1000.0)
    for _ in range(BURST):
        throttle.note((), 1000.0)
    assert throttle.pause == PAUSE


def test_a_vertex_that_is_marked_again_after_a_while_is_news_again():
    def reads_after(marked: set[int], pause: float) -> int:
        """How many more reads are allowed at once by a read that marks these, when none was allowed and 7 was marked."""
        throttle = ReadThrottle()
        for _ in range(BURST + 1 + EVENT_REFILL):
            throttle.note({7}, 5.0)
        throttle.note(marked, 5.0 + pause)
        reads = 0
        while not throttle.pause:
            throttle.note((), 5.0 + pause)
            reads += 1
        return reads

    assert reads_after({7}, WINDOW / 2) == reads_after(set(), WINDOW / 2)
    assert reads_after({7}, 2 * WINDOW) == reads_after(set(), 2 * WINDOW) + EVENT_REFILL
