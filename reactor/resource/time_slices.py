"""Lets the kernel interrupt a thread that computes for a long time as soon as another thread wakes up."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBERS = {"x86_64": (314, 315), "aarch64": (274, 275)}
"""The numbers of sched_setattr(2) and sched_getattr(2), which most versions of the C library lack, by machine."""

_ATTRIBUTES = struct.Struct("=IIQiIQQQII")
"""struct sched_attr: its size, policy, flags, nice value, priority, runtime, deadline, period, and two limits."""
_POLICY, _RUNTIME = 1, 5
_USUAL = (os.SCHED_OTHER, os.SCHED_BATCH)

_LONG = 100_000_000
"""Nanoseconds, the most that the kernel allows."""


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
    _set(_with_runtime(before, _LONG))
    try:
        yield
    finally:
        _set(before)


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
