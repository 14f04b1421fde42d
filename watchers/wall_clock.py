"""Marks a vertex at a time of the clock of the host, such as the end of a certificate.

A timer of the kernel waits, which follows the clock: also when it is set, and when the machine was asleep.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import trio

from reactor import Watch, Watcher, WatchSink
from reactor.watchers.alarms import Alarm

_ABSOLUTE = 1
_NANOSECONDS = 10**9
_FARTHEST = 2**62 // _NANOSECONDS


class WallAlarm(Alarm):
    """The next time at which a resource must be checked, in seconds since the epoch. A resource has one."""


@dataclass(frozen=True, slots=True)
class WallAlarmWatch(Watch):
    """A check at the time of ``alarm``."""

    alarm: WallAlarm


class WallClockWatcher(Watcher):
    """Waits for the earliest of all alarms, by one timer of the kernel. Between them it does nothing."""

    serves = WallAlarmWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._alarms: dict[int, WallAlarm] = {}
        self._timer = _Timer()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a WallAlarmWatch."""
        alarm = self._alarms[vertex] = cast("WallAlarmWatch", watch).alarm
        alarm.listen(self._set_timer)
        self._set_timer()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a WallAlarmWatch."""
        if self._alarms.get(vertex) is cast("WallAlarmWatch", watch).alarm:
            self._alarms.pop(vertex).listen(None)
            self._set_timer()

    async def run(self) -> None:
        """Mark each vertex when its time has come, until cancelled."""
        while True:
            await self._timer.wait()
            now = time.time()
            for vertex, alarm in self._alarms.items():
                if alarm.at <= now:
                    alarm.at = math.inf
                    self.sink.mark(vertex)
            self._set_timer()

    def close(self) -> None:
        """Free the timer."""
        self._timer.close()

    def _set_timer(self) -> None:
        self._timer.set(min((alarm.at for alarm in self._alarms.values()), default=math.inf))


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class _Timer:
    """A timerfd(2) on the clock of the host; os.timerfd_create is there from Python 3.13 on only."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        self._fd = self._libc.timerfd_create(time.CLOCK_REALTIME, flags)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "no timer can be made")

    def set(self, at: float) -> None:
        """Wake `wait` at ``at``, in seconds since the epoch; at once if that has passed."""
        if self._fd < 0:
            return
        whole = 0 if at == math.inf else max(1, round(min(at, _FARTHEST) * _NANOSECONDS) + 1)
        value = _Itimerspec(_Timespec(0, 0), _Timespec(*divmod(whole, _NANOSECONDS)))
        if self._libc.timerfd_settime(self._fd, _ABSOLUTE, ctypes.byref(value), None) != 0:
            raise OSError(ctypes.get_errno(), "the timer can't be set")

    async def wait(self) -> None:
        """Wait for the time."""
        await trio.lowlevel.wait_readable(self._fd)
        with suppress(BlockingIOError):
            os.read(self._fd, 8)

    def close(self) -> None:
        """Free the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
