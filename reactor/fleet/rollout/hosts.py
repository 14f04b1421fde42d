"""The state of a host, as the driver sees it: its newest summary, and when the server received it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class HostPhase(StrEnum):
    """The state of a host in one channel, as it reports it.

    ``excluded``: the targets of the release leave this host out. ``held``: people keep it at its release, or pinned
    it to one.
    """

    WAITING = "waiting"
    FETCHING = "fetching"
    REJECTED = "rejected"
    MOVING = "moving"
    CONVERGED = "converged"
    FAILED = "failed"
    STALE = "stale"
    EXCLUDED = "excluded"
    HELD = "held"


BAD = frozenset({HostPhase.FAILED, HostPhase.REJECTED})
OUTSIDE = frozenset({HostPhase.EXCLUDED, HostPhase.HELD})
"""These hosts do not take the release, and no gate counts them."""


@dataclass(frozen=True)
class HostView:
    """A host in one channel.

    ``about``: the release that ``phase`` is about, which may not be in force yet; ``in_force``: the release in force;
    ``since``: when the phase began, and ``heard``: when the newest summary arrived, both on the server's clock, None
    if none ever did; ``checks``: the status of the health checks that the gate names.
    """

    id: str
    rank: int
    heard: float | None = None
    in_force: str | None = None
    about: str | None = None
    phase: HostPhase = HostPhase.WAITING
    since: float = 0.0
    checks: Mapping[str, str] = field(default_factory=dict)

    def is_bad(self, release: str) -> bool:
        """Whether the host failed with ``release``, or refused it."""
        return self.about == release and self.phase in BAD

    def is_outside(self, release: str) -> bool:
        """Whether the host reports that it does not take ``release``."""
        return self.about == release and self.phase in OUTSIDE

    def is_converged(self, release: str, checks: tuple[str, ...]) -> bool:
        """Whether ``release`` is in force here, converged, and the named health checks are OK."""
        right = self.in_force == self.about == release and self.phase is HostPhase.CONVERGED
        return right and all(self.checks.get(name) == "ok" for name in checks)


def on_server_clock(moment: float, sent: float, heard: float) -> float:
    """Return a time on the server's clock for one on the clock of the host, which may be wrong.

    ``sent`` is the time of the summary on the host's clock, ``heard`` when the server received it.
    """
    return heard - max(0.0, sent - moment)
