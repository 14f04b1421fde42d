"""Signals that come close together are one."""

import pytest
import trio

from reactor.fleet.debounced_event import DebouncedEvent

LONG = 100.0


async def woken(event, *signals, **how):
    """Signal at these times, counted from the begin of the wait; return when the wait ended."""
    begun = trio.current_time()
    ended = []

    async def wait():
        await event.wait(LONG, **how)
        ended.append(trio.current_time() - begun)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        for each in signals:
            await trio.sleep_until(begun + each)
            event.set()
    return ended[0]


async def test_the_first_signal_wakes_at_once(autojump_clock):
    assert await woken(DebouncedEvent(at_once=True), 1.0, 1.001) == pytest.approx(1.0)


async def test_a_signal_just_after_the_work_waits_for_others(autojump_clock):
    assert await woken(DebouncedEvent(at_once=True), 0.001, 0.002) == pytest.approx(0.02)


async def test_a_signal_during_the_work_wakes_once(autojump_clock):
    event = DebouncedEvent(at_once=True)
    event.set()
    assert await woken(event) == pytest.approx(0.02)
    assert await woken(event, 1.0) == pytest.approx(1.0), "a signal wakes once"


async def test_signals_are_collected(autojump_clock):
    assert await woken(DebouncedEvent(), 1.0, 1.019) == pytest.approx(1.02)


async def test_nothing_wakes_before_the_least_time(autojump_clock):
    for signals in ((0.1,), (9.0,)):
        assert await woken(DebouncedEvent(), *signals, least=10.0) == pytest.approx(10.0)
    event = DebouncedEvent()
    event.set()
    assert await woken(event, least=10.0) == pytest.approx(10.0)
    assert await woken(event, 12.0, least=10.0) == pytest.approx(12.02)
    assert await woken(event, least=200.0) == pytest.approx(200.0)


async def test_without_a_signal_the_time_ends_the_wait(autojump_clock):
    assert 80 <= await woken(DebouncedEvent(at_once=True)) <= 120
