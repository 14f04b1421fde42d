"""How far the clock can be believed."""

from __future__ import annotations

import time

SETTLING = 3600.0
"""Seconds from the start of the host, or from when its clock was set, in which that may happen once more."""

STEP = 60.0
"""Seconds by which a clock may be corrected without having been wrong."""


class Clock:
    """The clock of the host, as this process has seen it."""

    def __init__(self) -> None:
        self._host_began = time.time() - _uptime()
        self._doubted = 0.0

    def is_settled(self) -> bool:
        """Whether the host runs for long enough that somebody will have told it the time, and nobody has set it since.

        A broken clock says at the start what it likes, also a time decades ahead, until the network knows better; and
        people set it by hand. Nothing may be lost for its age by then.
        """
        uptime = _uptime()
        host_began = time.time() - uptime
        if abs(host_began - self._host_began) > STEP:
            self._host_began, self._doubted = host_began, uptime
        return uptime - self._doubted >= SETTLING


def _uptime() -> float:
    """Seconds since the host started. It goes on while the host sleeps, and nobody can set it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


is_settled = Clock().is_settled
"""Asked for all of the process."""
