"""Notices when something else changes a resource back as often as we repair it, and slows the fight down."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from reactor.engine.backoff import Backoff

REPAIRS = 50
WINDOW = 10.0
FIRST_WAIT = 0.01
LONGEST_WAIT = 1.0


@dataclass(eq=False, repr=False)
class _Fight:
    times: deque[float] = field(default_factory=lambda: deque(maxlen=REPAIRS))
    actions: Counter[str] = field(default_factory=Counter)
    backoff: Backoff = field(default_factory=lambda: Backoff(FIRST_WAIT, LONGEST_WAIT))
    told: bool = False


class Flare(NamedTuple):
    """One more repair too many.

    ``wait``: seconds until the next. ``news``: what was repaired how often, the first time a fight is noticed.
    """

    wait: float
    news: dict[str, int] | None


class Fights:
    """More than `REPAIRS` repairs of one vertex within `WINDOW` seconds are a fight. It is never given up, only slowed."""

    def __init__(self) -> None:
        self._fights: dict[int, _Fight] = {}

    def repaired(self, vertex: int, actions: tuple[str, ...], now: float) -> Flare | None:
        """Drift of ``vertex`` was repaired by ``actions``. Returns a Flare when that is part of a fight."""
        fight = self._fights.get(vertex)
        if fight is None or now - fight.times[-1] > WINDOW:
            fight = self._fights[vertex] = _Fight()
        fight.times.append(now)
        fight.actions.update(actions)
        if (
            len(fight.times) < REPAIRS
            or now - fight.times[0] > WINDOW + fight.backoff.level * LONGEST_WAIT * REPAIRS
        ):
            return None
        news = None if fight.told else dict(fight.actions)
        fight.told = True
        return Flare(fight.backoff.next_wait(now), news)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph."""
        for vertex in vertices:
            self._fights.pop(vertex, None)
