"""The clocks of the host: whether its time can be trusted, and the time since its start, which nobody can set."""

from __future__ import annotations

import time

SETTLING = 3600.0
"""Seconds after the host starts, or after its clock was set, in which the clock is expected to be set again."""

STEP = 60.0
"""The most seconds by which a correct clock may be adjusted."""


class Clock:
    """Observes the clock of the host from this process."""

    def __init__(self) -> None:
        self._host_began = time.time() - uptime()
        self._doubted = 0.0

    def is_settled(self) -> bool:
        """Whether the host has run long enough for its clock to be set, and the clock was not set recently.

        A host may start with a wrong time, also decades in the future, until NTP or the user sets it. Until then,
        nothing may be deleted because of its age.
        """
        up = uptime()
        host_began = time.time() - up
        if abs(host_began - self._host_began) > STEP:
            self._host_began, self._doubted = host_began, up
        return up - self._doubted >= SETTLING


def uptime() -> float:
    """The seconds since the host started, including suspend. This clock can't be set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


is_settled = Clock().is_settled
"""The `Clock.is_settled` of the one clock that the whole process shares."""
