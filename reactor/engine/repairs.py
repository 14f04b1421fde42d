"""What a critical health check leads to: its resource is checked again, and refreshed if the health check says so.

The next attempt does that, after a wait that grows as after any failure. It looks at the health first: what is well again
by itself needs no repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from reactor.engine.check import Verdict
from reactor.engine.outcome import Outcome
from reactor.resource.base import Resource
from reactor.resource.health import HealthStatus

MOST_REPAIRS: Final = 5
"""How many follow each other that don't help. After that, the health is only looked at, until it is ok."""

_GAVE_UP: Final = f"{MOST_REPAIRS} repairs in a row have not helped: from now on it is only looked at"


class Repairs:
    """Counts the repairs of each vertex since it was well."""

    def __init__(self) -> None:
        self._made: Counter[int] = Counter()

    def begins(self, vertex: int) -> None:
        """One is made now."""
        self._made[vertex] += 1

    def is_first(self, vertex: int) -> bool:
        """Whether none was made since ``vertex`` was well."""
        return not self._made[vertex]

    def judged(self, vertex: int, resource: Resource, verdict: Verdict) -> Verdict:
        """``verdict`` after a look at the health; it is CRITICAL if the next check is to be a repair."""
        if verdict.outcome is Outcome.UNHEALTHY and wanted(resource, verdict):
            if self._made[vertex] < MOST_REPAIRS:
                return verdict._replace(outcome=Outcome.CRITICAL)
            return verdict._replace(hint=_GAVE_UP)
        if verdict.outcome in (Outcome.OK, Outcome.CHANGED):
            self.forget([vertex])
        return verdict

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` are well, or have left the graph."""
        for vertex in vertices:
            self._made.pop(vertex, None)


def wanted(resource: Resource, verdict: Verdict) -> set[str]:
    """What the health checks that are critical ask for: to ``check`` the resource, to ``refresh`` it, or nothing."""
    both = zip(resource.health_checks, verdict.health, strict=True)
    asked: set[str] = {check.on_critical for check, found in both if found.status is HealthStatus.CRITICAL}
    return asked - {"none"}
