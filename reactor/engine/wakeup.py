"""Keeps time for the scheduler."""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import trio

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    """The ``struct itimerspec`` of timerfd_settime(2), which Python offers from 3.13 on."""

    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Wakeup:
    """Rings at the time that ``due`` names, while it is entered. `set` it whenever that time may have come nearer.

    epoll counts whole milliseconds, and trio waits until the last of them is over: for longer than a small file takes.
    So a timer of the kernel wakes us. trio's deadline is there for clocks that jump.
    """

    def __init__(self, due: Callable[[], float]) -> None:
        self._due = due
        self._nap = trio.CancelScope()
        self._rings_at = math.inf
        self._setting = _Setting()

    def __enter__(self) -> Self:
        self._clock = trio.lowlevel.current_clock()
        self._timer = _libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._timer < 0:
            raise OSError(code := ctypes.get_errno(), os.strerror(code))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._timer)
        self._timer = -1  # whoever sets it now means no other descriptor of that number

    def set(self) -> None:
        """Look again when to ring."""
        if (due := self._due()) < self._rings_at:
            self._ring_at(due)

    async def wait(self) -> None:
        """Return when it rings."""
        with trio.CancelScope() as self._nap:
            self._ring_at(self._due())
            await trio.lowlevel.wait_readable(self._timer)

    def _ring_at(self, due: float) -> None:
        """Ring then, and only then: what the timer has rung for before, it no longer wakes for."""
        self._rings_at = self._nap.deadline = due
        at_once = 1e-9  # a timer set to 0 never rings
        seconds = 0.0 if due == math.inf else max(self._clock.deadline_to_sleep_time(due), at_once)
        value = self._setting.value
        value.seconds, value.nanoseconds = divmod(int(seconds * 1e9), 1_000_000_000)
        _libc.timerfd_settime(self._timer, 0, ctypes.byref(self._setting), None)
