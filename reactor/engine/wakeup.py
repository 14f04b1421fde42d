"""The timer that wakes the workers when a vertex becomes due."""

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
    """The ``struct itimerspec`` of timerfd_settime(2). Python has no interface to it before 3.13."""

    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Wakeup:
    """A timer that ends `wait` at the time that ``due`` returns. Call `set` whenever that time may have become earlier.

    Use it as a context manager. It uses a kernel timer because epoll counts whole milliseconds and trio waits until
    the last of them is over, which is longer than a check of a small file takes. A trio deadline is set too, for
    clocks that jump.
    """

    def __init__(self, due: Callable[[], float]) -> None:
        self._due = due
        self._nap = trio.CancelScope()
        self._wakes_at = math.inf
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
        self._timer = -1  # a later `set` must not affect another descriptor with that number

    def set(self) -> None:
        """Call ``due`` again, and set the timer earlier if necessary."""
        if (due := self._due()) < self._wakes_at:
            self._wake_at(due)

    async def wait(self) -> None:
        """Return at the time that ``due`` returns."""
        with trio.CancelScope() as self._nap:
            self._wake_at(self._due())
            await trio.lowlevel.wait_readable(self._timer)

    def _wake_at(self, due: float) -> None:
        """Set the timer to ``due``.

        This replaces any earlier setting, so a time that is over does not wake us again.
        """
        self._wakes_at = self._nap.deadline = due
        at_once = 1e-9  # a timer set to 0 never fires
        seconds = 0.0 if due == math.inf else max(self._clock.deadline_to_sleep_time(due), at_once)
        value = self._setting.value
        value.seconds, value.nanoseconds = divmod(int(seconds * 1e9), 1_000_000_000)
        _libc.timerfd_settime(self._timer, 0, ctypes.byref(self._setting), None)
