"""Lets the event loop go before the threads of this process that compute, where the processor is short."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NUMBERS = {"x86_64": (314, 315), "aarch64": (274, 275)}
"""The numbers of sched_setattr(2) and sched_getattr(2), which most versions of the C library lack, by machine."""

_ATTRIBUTES = struct.Struct("=IIQiIQQQII")
"""struct sched_attr: its size, policy, flags, nice value, priority, runtime, deadline, period, and two limits."""
_POLICY, _RUNTIME = 1, 5
_USUAL = (os.SCHED_OTHER, os.SCHED_BATCH)

_LONG = 100_000_000
"""Nanoseconds, the most that the kernel allows."""

_NICE = -10
"""With this, the loop gets nine parts of ten of a processor that it shares with one other thread."""


@contextmanager
def long_slice() -> Iterator[None]:
    """Within the block, this thread may be interrupted by any other one of the same processor that wakes up.

    The kernel lets a thread finish its slice of about 3 ms, and longer until the next tick, before one with a slice as
    long goes on, also before one with a better nice value. It interrupts at once for a shorter slice. A longer one takes
    no share of the processor away. Does nothing before Linux 6.12, or where the kernel does not allow it.
    """
    before = _attributes()
    if before is None or before[_POLICY] not in _USUAL:
        yield
        return
    # The thread that has started this one may wait for the processor since then. With a long slice, this one would
    # come back late, maybe with the lock of the interpreter.
    os.sched_yield()
    _set(_with_runtime(before, _LONG))
    try:
        yield
    finally:
        _set(before)


class _Preference:
    """The preference of the event loop, which several may ask for at a time."""

    def __init__(self) -> None:
        self._wanted = 0
        self._is_ours = False

    def begin(self) -> None:
        self._wanted += 1
        if self._wanted == 1:
            self._is_ours = _is_usual() and _prefer()

    def end(self) -> None:
        self._wanted -= 1
        if not self._wanted and self._is_ours:
            _prefer_no_more()


_preference = _Preference()


@contextmanager
def preferred() -> Iterator[None]:
    """Within the block, prefer this thread to all others, also to those of this process. Without the right to, do nothing.

    Only for the thread of the event loop. A thread that computes may have the processor that the loop needs for a
    repair, and the kernel takes it back only at the next tick, after up to 4 ms. To set that thread back instead would
    be worse on a busy host: the loop also waits for the lock of the interpreter, which a thread holds that gets no
    processor. Programs and threads that start within the block have the usual priority. A thread that already has
    another priority than the usual one keeps it.
    """
    _preference.begin()
    try:
        yield
    finally:
        _preference.end()


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


def _with_runtime(attributes: tuple[int, ...], nanoseconds: int) -> tuple[int, ...]:
    return (*attributes[:_RUNTIME], nanoseconds, *attributes[_RUNTIME + 1 :])


def _numbers() -> tuple[int, int] | None:
    return _NUMBERS.get(os.uname().machine) if sys.maxsize > 2**32 else None  # not in a program of 32 bits


_numbers_here = _numbers()
_syscall = ctypes.CDLL(None, use_errno=True).syscall


def _attributes() -> tuple[int, ...] | None:
    """The attributes of this thread; None if they are not known."""
    if _numbers_here is None:
        return None
    buffer = ctypes.create_string_buffer(_ATTRIBUTES.size)
    if _syscall(_numbers_here[1], 0, buffer, _ATTRIBUTES.size, 0):
        return None
    return _ATTRIBUTES.unpack(buffer.raw)


def _set(attributes: tuple[int, ...]) -> None:
    """Set the attributes of this thread. An error changes nothing."""
    if _numbers_here is not None:
        _syscall(_numbers_here[0], 0, _ATTRIBUTES.pack(*attributes), 0)
