"""The loop of a run goes before the threads that compute, as far as it may, and leaves nothing of that behind."""

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest
import trio

from reactor.cli.running.turns import taking_turns
from reactor.engine.events import Cause, Checked, Result
from reactor.journal.journal import Journal
from reactor.journal.store import Store
from reactor.resource.thread_slices import preferred
from reactor.resource.threads import in_thread

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


def test_it_lasts_until_the_last_block_that_wants_it_ends():
    first, second = preferred(), preferred()
    with ExitStack() as later:
        with first:
            later.enter_context(second)
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
from reactor.resource.thread_slices import preferred
import os
os.nice(3)
with preferred():
    {SHOWN.partition("; ")[2]}
"""
    assert shown(command) == "3 0"


def test_nothing_happens_without_the_right_to():
    command = f"""
import os
from reactor.resource.thread_slices import preferred
os.setuid(65534)
with preferred():
    {SHOWN.partition("; ")[2]}
"""
    assert shown(command) == USUAL


@pytest.mark.parametrize("gives_way", [False, True])
async def test_it_is_preferred_to_work_that_gives_way_and_to_no_other(gives_way):
    loop = threading.get_native_id()
    priority = await in_thread(os.getpriority, os.PRIO_PROCESS, loop, gives_way=gives_way)
    assert (priority < 0) == gives_way
    assert here() == USUAL


@pytest.mark.parametrize(
    ("events", "is_preferred"), [(1, True), (1000, False)], ids=["repairs", "a first pass"]
)
async def test_it_is_preferred_to_the_journal_of_repairs_only(tmp_path, monkeypatch, events, is_preferred):
    loop, priorities, write = threading.get_native_id(), [], Store.write

    def written(store, batch, *, durable):
        priorities.append(os.getpriority(os.PRIO_PROCESS, loop))
        write(store, batch, durable=durable)

    journal = Journal.open(str(tmp_path), "/etc/site.yaml", print)
    monkeypatch.setattr(Store, "write", written)
    for _ in range(events):
        journal.record(Checked(time.time(), "file#/a", Result.CHANGED, Cause.DRIFT, 0.001, ("wrote it",)))
    await journal.catch_up()
    journal.close()
    assert [priority < 0 for priority in priorities] == [is_preferred]


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
