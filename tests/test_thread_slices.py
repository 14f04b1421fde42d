"""A thread that computes for long has a long slice meanwhile, and leaves nothing of that behind."""

import os
import platform
import threading

import pytest

from reactor.resource import thread_slices
from reactor.resource.thread_slices import long_slice

RUNTIME = 5
SINCE = (6, 12)


def slice_here():
    attributes = thread_slices._attributes()
    assert attributes is not None
    return attributes[RUNTIME]


def in_thread_of_its_own(work):
    """What ``work`` returns: a thread that fails leaves its slice to nobody."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def _kernel_has_slices():
    major, minor = platform.release().split(".")[:2]
    if (int(major), int(minor.partition("-")[0])) < SINCE or thread_slices._numbers_here is None:
        pytest.skip("the kernel or the machine has no slices that can be set")


@pytest.mark.usefixtures("_kernel_has_slices")
def test_the_slice_is_long_within_the_block_only():
    def work():
        before = slice_here()
        with long_slice():
            within = slice_here()
        with pytest.raises(ValueError, match="x"), long_slice():
            raise ValueError("x")
        return before, within, slice_here()

    before, within, after = in_thread_of_its_own(work)
    assert before < within == 100_000_000
    assert after == before


@pytest.mark.usefixtures("_kernel_has_slices")
def test_the_nice_value_and_other_threads_keep_what_they_have():
    def work():
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 3)
        with long_slice():
            return os.getpriority(os.PRIO_PROCESS, 0), in_thread_of_its_own(lambda: None)

    before = slice_here()
    assert in_thread_of_its_own(work) == (3, None)
    assert slice_here() == before


def test_a_policy_of_another_kind_is_left_as_it_is():
    def work():
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        with long_slice():
            within = os.sched_getscheduler(0)
        return within, os.sched_getscheduler(0)

    assert in_thread_of_its_own(work) == (os.SCHED_IDLE, os.SCHED_IDLE)


def test_a_machine_of_another_kind_has_no_long_slices(monkeypatch):
    monkeypatch.setattr(thread_slices, "_numbers_here", None)
    with long_slice():
        assert thread_slices._attributes() is None
