"""Long work in slices: others get their turn when one is used up, and not at every step."""

from time import perf_counter

import trio

from reactor.resource.time_slice import SLICE, TimeSlice


def test_a_slice_is_not_used_up_at_once():
    assert not all(TimeSlice().used_up() for _ in range(1000)), "one of them on a busy machine, not all"


async def test_a_step_gives_others_a_turn_only_at_the_end_of_a_slice():
    turns = []

    async def other():
        turns.append(steps)

    steps, time_slice = 0, TimeSlice()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        began = perf_counter()
        while not turns:
            steps += 1
            await time_slice.step()
    assert perf_counter() - began >= SLICE
    assert turns == [steps]


async def test_a_slice_lasts_as_long_as_it_is_said_to():
    began = perf_counter()
    time_slice = TimeSlice()
    while not time_slice.used_up():
        pass
    assert perf_counter() - began >= SLICE
    before_rest = perf_counter()
    await time_slice.yield_to_loop()
    while not time_slice.used_up():
        pass
    assert perf_counter() - before_rest >= SLICE
