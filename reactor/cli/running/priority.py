"""Lets repairs go before the threads that load a manifest, where the processor or the lock of the interpreter is short."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import trio

_NICE = -10
"""With this, the loop gets nine parts of ten of a processor that it shares with one other thread."""

_PATIENCE = 0.00002
"""Seconds for which the loop, when it wakes up, leaves the lock of Python's interpreter to a thread that has it.

The kernel may add 50 µs.
"""
_HALF = 5e-7
"""Half a microsecond. Python rounds the time down to microseconds, so that each setting would make it shorter."""


@contextmanager
def preferred() -> Iterator[None]:
    """Within the block, prefer this thread to all others, also to those of this process. Without the right to, do nothing.

    A thread that loads may have the processor that the loop needs for a repair, and the kernel takes it back only at
    the next tick, after up to 4 ms. To set the loading back instead would be worse on a busy host: the loop also waits
    for the lock of the interpreter, which a thread holds that gets no processor. Programs and threads that are started
    meanwhile are not preferred. If somebody has set a priority, it stays.
    """
    is_preferred = _is_usual() and _prefer()
    try:
        yield
    finally:
        if is_preferred:
            _prefer_no_more()


def _is_usual() -> bool:
    """Whether this thread has the priority that a process has by default."""
    return os.getpriority(os.PRIO_PROCESS, 0) == 0 and os.sched_getscheduler(0) == os.SCHED_OTHER


def _prefer() -> bool:
    """Prefer this thread, but not what it starts; return whether that is allowed."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
        os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
    except OSError:
        _prefer_no_more()
        return False
    return True


def _prefer_no_more() -> None:
    with suppress(OSError):  # the right to was taken away meanwhile
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def taking_turns() -> Iterator[None]:
    """Within the block, let the loop take the lock of the interpreter sooner when it wakes up than threads take it then.

    A thread that loads has the lock when a repair begins. While the loop runs, the usual time holds for all: with a
    shorter one, the thread would take the lock away from the repair as often. The median repair during a load takes a
    sixth less time.
    """
    turns = _Turns(sys.getswitchinterval() + _HALF)
    trio.lowlevel.add_instrument(turns)
    try:
        yield
    finally:
        trio.lowlevel.remove_instrument(turns)
        sys.setswitchinterval(turns.usual)


class _Turns(trio.abc.Instrument):
    def __init__(self, usual: float) -> None:
        self.usual = usual

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002 - the interface of trio
        sys.setswitchinterval(_PATIENCE)

    def after_io_wait(self, timeout: float) -> None:  # noqa: ARG002
        sys.setswitchinterval(self.usual)
