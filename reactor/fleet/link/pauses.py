"""The pauses between attempts to connect."""

from __future__ import annotations

import os
import random
from typing import NamedTuple

import trio

from reactor.fleet.link.errors import ContextError, IdentityError, LinkError
from reactor.fleet.link.options import Timing

_LOOK = 5.0
"""Seconds between two looks whether refused credentials were replaced."""


class Outage(NamedTuple):
    """The end of a connection, with the reason. ``lasted``: the seconds that it was up."""

    error: LinkError
    lasted: float = 0.0
    moving: bool = False
    """Whether another server is used from now on, although this one answers."""


class Pauses:
    """Pauses that double with each failed round through the servers, and are jittered so that hosts spread.

    ``credentials``: the file that servers may refuse. When it is replaced, a pause after a refusal ends.
    """

    def __init__(self, timing: Timing, credentials: str | None = None) -> None:
        self._timing = timing
        self._credentials = credentials
        self._attempts = 0
        self._refusals = 0

    async def wait(self, outage: Outage, servers: int) -> None:
        """Wait before the next attempt. ``servers``: the number of servers to try."""
        seconds = self.after(outage, servers)
        if not _is_refusal(outage):
            await trio.sleep(seconds)
            return
        before, until = _version(self._credentials), trio.current_time() + seconds
        while (left := until - trio.current_time()) > 0 and _version(self._credentials) == before:  # noqa: ASYNC110 - a file has no event
            await trio.sleep(min(left, _LOOK))

    def after(self, outage: Outage, servers: int) -> float:
        """Return the seconds to wait. ``servers``: the number of servers to try."""
        timing = self._timing
        if outage.lasted > 0:
            self._refusals = 0
        if outage.lasted >= timing.settled:
            self._attempts = 0
        if outage.moving and servers > 1:
            return 0.0
        if _is_refusal(outage):
            pause = min(timing.first_refused_pause * 2.0**self._refusals, timing.longest_refused_pause)
            self._refusals = min(self._refusals + 1, 30)
        else:
            pause = min(timing.first_pause * 2.0 ** (self._attempts // servers), timing.longest_pause)
            self._attempts = min(self._attempts + 1, 30 * servers)
        return pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load


def _is_refusal(outage: Outage) -> bool:
    """Whether each further attempt fails until somebody replaces a file."""
    return isinstance(outage.error, IdentityError | ContextError)


def _version(path: str | None) -> tuple[int, int] | None:
    """What changes when a file is replaced; None if there is none."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns) if found is not None else None
