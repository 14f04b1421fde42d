"""The pauses between attempts to connect."""

from __future__ import annotations

import random
from typing import NamedTuple

from reactor.fleet.link.errors import ContextError, IdentityError, LinkError
from reactor.fleet.link.options import Timing


class Outage(NamedTuple):
    """The end of a connection, with the reason. ``lasted``: the seconds that it was up."""

    error: LinkError
    lasted: float = 0.0
    moving: bool = False
    """Whether another server is used from now on, although this one answers."""


class Pauses:
    """Pauses that double with each failed round through the servers, and are jittered so that hosts spread."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._attempts = 0
        self._refusals = 0

    def after(self, outage: Outage, servers: int) -> float:
        """Return the seconds to wait. ``servers``: the number of servers to try."""
        timing = self._timing
        if outage.lasted > 0:
            self._refusals = 0
        if outage.lasted >= timing.settled:
            self._attempts = 0
        if outage.moving and servers > 1:
            return 0.0
        if isinstance(outage.error, IdentityError | ContextError):
            pause = min(timing.first_refused_pause * 2.0**self._refusals, timing.longest_refused_pause)
            self._refusals = min(self._refusals + 1, 30)
        else:
            pause = min(timing.first_pause * 2.0 ** (self._attempts // servers), timing.longest_pause)
            self._attempts = min(self._attempts + 1, 30 * servers)
        return pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load
