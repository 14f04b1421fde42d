"""Notices when something else changes a resource back as often as we repair it, and slows the fight down."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from reactor.engine.backoff import Backoff

REPAIRS = 50
WINDOW = 10.0
SLOW_REPAIRS = 10
SHARE = 3
"""Slow repairs are a fight where they take one part in so many of all the time."""
FIRST_WAIT = 0.01
LONGEST_WAIT = 1.0


class _Repair(NamedTuple):
    ended: float
    took: float
    actions: tuple[str, ...]

    @property
    def started(self) -> float:
        return self.ended - self.took


@dataclass(slots=True, eq=False, repr=False)
class _RepairStreak:
    """Repairs in a row, and maybe no fight yet. Small: everything that ever drifted has one."""

    repairs: deque[_Repair] = field(default_factory=lambda: deque(maxlen=REPAIRS))
    backoff: Backoff | None = None
    """From when it is known to be one."""

    def goes_on_with(self, repair: _Repair) -> bool:
        """Whether hardly any time was calm since the last repair."""
        calm = repair.started - self.repairs[-1].ended
        return calm <= max(WINDOW, (SHARE - 1) * repair.took)

    def is_one(self) -> bool:
        """Whether so many repairs are no accident."""
        first, last = self.repairs[0], self.repairs[-1]
        lasted = last.ended - first.started
        if lasted <= WINDOW:
            return len(self.repairs) == REPAIRS
        return len(self.repairs) >= SLOW_REPAIRS and SHARE * sum(each.took for each in self.repairs) >= lasted


class Flap(NamedTuple):
    """One more repair too many.

    ``wait``: seconds until the next. ``news``: what was repaired how often, the first time a fight is noticed.
    """

    wait: float
    news: dict[str, int] | None


class FlapDetector:
    """Fights over single vertices. None is given up, only slowed, until some time was calm.

    `REPAIRS` repairs within `WINDOW` seconds are a fight. What takes too long for that, such as to install a
    package that another resource removes, is one after `SLOW_REPAIRS` in a row that took a good part of a longer time.
    """

    def __init__(self) -> None:
        self._flap_detector: dict[int, _RepairStreak] = {}
        self.again: Counter[int] = Counter()
        """How often each vertex has drifted right after its repair, if it was not as desired since."""

    def repaired(self, vertex: int, actions: tuple[str, ...], took: float, now: float) -> Flap | None:
        """Drift of ``vertex`` was repaired by ``actions`` in so many seconds. Returns a Flare when it is fought over."""
        repair = _Repair(now, took, actions)
        fight = self._flap_detector.get(vertex)
        if fight is None or not fight.goes_on_with(repair):
            fight = self._flap_detector[vertex] = _RepairStreak()
        fight.repairs.append(repair)
        if fight.backoff is not None:
            return Flap(fight.backoff.next_wait(now), None)
        if not fight.is_one():
            return None
        fight.backoff = Backoff(FIRST_WAIT, LONGEST_WAIT)
        news = Counter(action for each in fight.repairs for action in each.actions)
        return Flap(fight.backoff.next_wait(now), dict(news))

    def drifted_again(self, vertex: int) -> int:
        """What was just repaired at ``vertex`` has drifted already. Returns how often that was so, one after the other."""
        self.again[vertex] += 1
        return self.again[vertex]

    def stayed_ok(self, vertex: int) -> None:
        """``vertex`` was as desired at the end of its check."""
        self.again.pop(vertex, None)

    def forget(self, vertices: Iterable[int]) -> None:
        """``vertices`` have left the graph."""
        for vertex in vertices:
            self._flap_detector.pop(vertex, None)
            self.again.pop(vertex, None)
