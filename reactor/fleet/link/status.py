"""Whether a connection is up, and if not, why."""

from __future__ import annotations

from typing import NamedTuple

from reactor.fleet.link.errors import LinkError


class Status(NamedTuple):
    """``server`` is the current or the last server; ``why``: the reason why it is down.

    ``since``: seconds on trio's clock; ``certificate_ends``: as of `Session`.
    """

    up: bool
    server: str
    since: float
    why: LinkError | None = None
    certificate_ends: str | None = None


def ignore(_problem: LinkError) -> None:
    """Ignore a problem."""
