"""Detects flapping: something else changes a resource back as often as we repair it. Slows down the repairs."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from reactor.engine.retries import Backoff
from reactor.named_tuple import NamedTuple

REPAIRS = 50
WINDOW = 10.0
SLOW_REPAIRS = 10
SHARE = 3
"""Slow repairs are flapping when they take at least one third of the elapsed time."""
_ENDED_AFTER = 10
"""A streak has ended after this many times the duration of its last repair, and at least after `WINDOW`."""
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
    """Repairs of one vertex with little calm between them."""

    repairs: deque[_Repair] = field(default_factory=lambda: deque(maxlen=REPAIRS))
    backoff: Backoff | None = None
    """The waits between repairs, set once the streak counts as flapping."""

    def continues_with(self, repair: _Repair) -> bool:
        """Whether ``repair`` followed the last one after little calm."""
        calm = repair.started - self.repairs[-1].ended
        return calm <= max(WINDOW, (SHARE - 1) * repair.took)

    def is_flapping(self) -> bool:
        """Whether these are too many repairs to be a coincidence."""
        first, last = self.repairs[0], self.repairs[-1]
        lasted = last.ended - first.started
        if lasted <= WINDOW:
            return len(self.repairs) == REPAIRS
        return len(self.repairs) >= SLOW_REPAIRS and SHARE * sum(each.took for each in self.repairs) >= lasted


class Flap(NamedTuple):
    """A repair of a vertex that flaps.

    ``wait`` is the time in seconds until the next repair may start. ``actions`` counts the actions of the streak; it is
    set only for the repair at which the flapping was detected, else None.
    """

    wait: float
    actions: dict[str, int] | None


class FlapDetector:
    """Detects flapping of single vertices. Never stops repairs: slows them down until there was some calm.

    `REPAIRS` repairs within `WINDOW` seconds are flapping. Repairs that take too long for that, such as installing a
    package that another resource removes, are flapping after `SLOW_REPAIRS` in a row that took a third of the time.
    """

    def __init__(self) -> None:
        self._streaks: OrderedDict[int, _RepairStreak] = OrderedDict()
        """By vertex; the one that was repaired last is at the end. A streak takes a kilobyte, so old ones go."""
        self.again: Counter[int] = Counter()
        """How often in a row each vertex drifted right after its repair."""

    def repaired(self, vertex: int, actions: tuple[str, ...], took: float, now: float) -> Flap | None:
        """Record that ``actions`` repaired drift of ``vertex`` in ``took`` seconds.

        Return a Flap if it is flapping, else None.
        """
        repair = _Repair(now, took, actions)
        self._drop_ended(now)
        streak = self._streaks.get(vertex)
        if streak is None or not streak.continues_with(repair):
            streak = self._streaks[vertex] = _RepairStreak()
        self._streaks.move_to_end(vertex)
        streak.repairs.append(repair)
        if streak.backoff is not None:
            return Flap(streak.backoff.next_wait(now), None)
        if not streak.is_flapping():
            return None
        streak.backoff = Backoff(FIRST_WAIT, LONGEST_WAIT)
        counted = Counter(action for each in streak.repairs for action in each.actions)
        return Flap(streak.backoff.next_wait(now), dict(counted))

    def _drop_ended(self, now: float) -> None:
        """Drop the streaks that no repair can continue. One that takes as long as the last ones has begun by then."""
        while self._streaks:
            vertex, streak = next(iter(self._streaks.items()))
            last = streak.repairs[-1]
            if now - last.ended <= max(WINDOW, _ENDED_AFTER * last.took):
                return
            del self._streaks[vertex]

    def drifted_again(self, vertex: int) -> int:
        """Record that ``vertex`` drifted right after its repair. Return how often that happened in a row."""
        self.again[vertex] += 1
        return self.again[vertex]

    def stayed_ok(self, vertex: int) -> None:
        """Record that ``vertex`` was as desired at the end of its check."""
        self.again.pop(vertex, None)

    def forget(self, vertices: Iterable[int]) -> None:
        """Forget ``vertices``, which have left the graph."""
        for vertex in vertices:
            self._streaks.pop(vertex, None)
            self.again.pop(vertex, None)
