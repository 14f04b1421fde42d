"""Long work in slices: others get their turn when one is used up, and not at every step."""

from time import perf_counter

from reactor.watchers.time_slice import SLICE, TimeSlice


def test_a_slice_is_not_used_up_at_once():
    assert not all(TimeSlice().used_up() for _ in range(1000)), "one of them on a busy machine, not all"


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
