"""How far the clock can be believed."""

from __future__ import annotations

import time

SETTLING = 3600.0
"""Seconds from the start of the host in which its clock may still be set."""


def is_settled() -> bool:
    """Whether the host runs for long enough that somebody will have told it the time.

    A broken clock says at the start what it likes, also a time decades ahead, until the network knows better. Nothing
    may be lost for its age by then.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME) >= SETTLING
