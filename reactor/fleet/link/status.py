"""Whether a connection is up, and if not, why."""

from __future__ import annotations

from ssl import cert_time_to_seconds
from typing import NamedTuple

from reactor.fleet.link.errors import LinkError

EXPIRES_SOON = 14 * 86_400
"""Seconds before the end of a certificate in which people are told of it."""


class Status(NamedTuple):
    """``server`` is the current or the last server; ``why``: the reason why it is down.

    ``since``: seconds on trio's clock; ``certificate_ends``: as of `Session`.
    """

    up: bool
    server: str
    since: float
    why: LinkError | None = None
    certificate_ends: str | None = None

    def certificate_problem(self, now: float) -> str:
        """What is wrong with the certificate of the server: it has expired, or soon will. Empty if nothing is.

        ``now``: seconds since 1970.
        """
        if self.certificate_ends is None:
            return ""
        left = cert_time_to_seconds(self.certificate_ends) - now
        verb = "expired" if left <= 0 else "expires"
        words = f"the certificate of the NATS server {self.server} {verb} on {self.certificate_ends}"
        return words if left < EXPIRES_SOON else ""


def ignore(_problem: LinkError) -> None:
    """Ignore a problem."""
