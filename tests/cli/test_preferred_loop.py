"""The loop of a run goes before the threads that load a manifest, as far as it may, and leaves nothing of that behind."""

import os
import subprocess
import sys
import threading

import pytest
import trio

from reactor.cli.running.priority import preferred, taking_turns

SHOWN = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))"
USUAL = "0 0"


def shown(command=SHOWN, **options):
    """The priority and the policy that the first thread of a process has."""
    return subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True, **options
    ).stdout.strip()


def here():
    return f"{os.getpriority(os.PRIO_PROCESS, 0)} {os.sched_getscheduler(0)}"


@pytest.fixture(autouse=True)
def root():
    if os.getuid():
        pytest.skip("only root may take a higher priority")


def test_it_is_preferred_within_the_block_only():
    assert here() == USUAL
    with preferred():
        assert os.getpriority(os.PRIO_PROCESS, 0) < 0
    assert here() == USUAL


def test_it_ends_with_an_error_too():
    with pytest.raises(ValueError, match="x"), preferred():
        raise ValueError("x")
    assert here() == USUAL


def test_neither_a_program_nor_a_thread_that_is_started_meanwhile_is_preferred():
    found = []
    with preferred():
        thread = threading.Thread(target=lambda: found.append(os.getpriority(os.PRIO_PROCESS, 0)))
        thread.start()
        thread.join()
        assert shown().startswith("0 ")
    assert found == [0]


def test_a_priority_that_somebody_has_set_stays():
    command = f"""
from reactor.cli.running.priority import preferred
import os
os.nice(3)
with preferred():
    {SHOWN.partition("; ")[2]}
"""
    assert shown(command) == "3 0"


def test_nothing_happens_without_the_right_to():
    command = f"""
import os
from reactor.cli.running.priority import preferred
os.setuid(65534)
with preferred():
    {SHOWN.partition("; ")[2]}
"""
    assert shown(command) == USUAL


class Intervals(trio.abc.Instrument):
    """How long others may have the lock of the interpreter, in microseconds: when the loop has slept, and in its tasks."""

    def __init__(self):
        self.woken, self.working = [], []

    def after_io_wait(self, timeout):
        self.woken.append(round(sys.getswitchinterval() * 1e6))

    async def watch(self):
        await trio.lowlevel.cancel_shielded_checkpoint()
        await trio.lowlevel.cancel_shielded_checkpoint()
        self.working.append(round(sys.getswitchinterval() * 1e6))


def test_the_loop_is_patient_only_while_it_works():
    before, intervals = sys.getswitchinterval(), Intervals()

    async def load():
        trio.lowlevel.add_instrument(intervals)
        for _ in range(3):
            with taking_turns():
                await intervals.watch()
            assert intervals.woken[-1] == 20
        await intervals.watch()

    sys.setswitchinterval(0.000123)
    try:
        usual = round(sys.getswitchinterval() * 1e6)
        trio.run(load)
        after = round(sys.getswitchinterval() * 1e6)
    finally:
        sys.setswitchinterval(before)
    assert usual == intervals.working[0] == after == intervals.woken[-1]
    assert {*intervals.working} == {usual}
