"""Whether a connection is up, and if not, why."""

from __future__ import annotations

from typing import NamedTuple

from reactor.fleet.link.errors import LinkError


class Status(NamedTuple):
    """``server`` is the one connected to, or the last; ``why``: the reason it is down. ``since``: seconds of trio."""

    up: bool
    server: str
    since: float
    why: LinkError | None = None


def ignore(_problem: LinkError) -> None:
    """Take a problem that is of no interest."""
