"""The alarm on the clock of the kernel; that it also rings on one that jumps is what all other tests of time rest on."""

import gc
import math
import os
import re
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from reactor.engine.wakeup import Wakeup


class Due:
    """When an alarm is to ring, in trio's time."""

    def __init__(self, seconds):
        self.at = trio.current_time() + seconds

    def __call__(self):
        return self.at


async def test_it_rings_when_it_is_due_and_no_sooner():
    due = Due(0.003)
    with trio.fail_after(60), Wakeup(due) as wakeup:
        await wakeup.wait()
    assert trio.current_time() >= due.at


async def test_what_is_long_due_rings_at_once():
    with trio.fail_after(60), Wakeup(Due(-10)) as wakeup:
        await wakeup.wait()


async def test_it_rings_sooner_when_that_is_set_during_the_wait():
    due = Due(math.inf)
    with trio.fail_after(60), Wakeup(due) as wakeup:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wakeup.wait)
            await trio.testing.wait_all_tasks_blocked()
            due.at = trio.current_time()
            wakeup.set()


async def test_once_it_has_rung_it_waits_for_the_next_time():
    due = Due(0)
    with Wakeup(due) as wakeup:
        with trio.fail_after(60):
            await wakeup.wait()
        due.at = math.inf
        with trio.move_on_after(0.01) as scope:
            await wakeup.wait()
        assert scope.cancelled_caught


async def test_it_leaves_no_descriptor_behind():
    gc.collect()  # what earlier tests have left
    before = set(os.listdir("/proc/self/fd"))
    with Wakeup(Due(0)) as wakeup:
        await wakeup.wait()
    assert set(os.listdir("/proc/self/fd")) <= before


def left_of(timer):
    """The seconds until the timer of the kernel rings; 0 if it is not set."""
    text = Path(f"/proc/self/fdinfo/{timer}").read_text()
    seconds, nanoseconds = re.search(r"^it_value: \((\d+), (\d+)\)", text, re.MULTILINE).groups()
    return int(seconds) + int(nanoseconds) / 1e9


@pytest.mark.parametrize("wait", [5.25, 100.5])
async def test_it_is_a_timer_of_the_kernel_that_rings(nursery, wait):
    due = [trio.current_time() + wait]
    with Wakeup(lambda: due[0]) as wakeup:
        nursery.start_soon(wakeup.wait)
        await wait_all_tasks_blocked()
        assert wait - 3 < left_of(wakeup._timer) <= wait
        due[0] += 10
        wakeup.set()
        assert left_of(wakeup._timer) <= wait, "it is only set to an earlier time"
        due[0] -= 12
        wakeup.set()
        assert wait - 5 < left_of(wakeup._timer) <= wait - 2
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await wait_all_tasks_blocked()


async def test_without_anything_due_the_timer_is_not_set(nursery):
    with Wakeup(lambda: math.inf) as wakeup:
        nursery.start_soon(wakeup.wait)
        await wait_all_tasks_blocked()
        assert left_of(wakeup._timer) == 0
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await wait_all_tasks_blocked()
