"""When a failed vertex is checked again. Part of the scheduler: no clock."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from reactor.engine.events import Cause
from reactor.engine.limits import UNLIMITED, Limits
from reactor.engine.outcome import Outcome

GROWTH = 2.0
JITTER = 0.1
CAP = 300.0

_RETRY = int(Cause.RETRY)
_REPAIR = int(Cause.RETRY | Cause.HEALTH)
_DONE = int(Cause.REFRESH | Cause.HEALTH)


@dataclass(slots=True, eq=False, repr=False)
class Backoff:
    """The waits after repeated failures of one thing.

    Each failure doubles the wait, from ``base`` up to ``cap`` seconds, spread by ±10 % so that many that fail
    together do not retry together. One success does not reset it: something that fails every second time would
    otherwise never slow down. It decays with time instead, by one doubling for each wait's length without failure.
    """

    base: float
    cap: float = CAP
    rng: random.Random = field(default_factory=random.Random, repr=False)
    level: float = 0.0
    last_failure: float = field(default=float("-inf"))

    def wait_after(self, failures: float) -> float:
        """The seconds to wait after ``failures`` in a row, without jitter."""
        return min(self.cap, self.base * math.pow(GROWTH, min(failures, 64.0)))

    def _raw(self) -> float:
        return self.wait_after(self.level)

    def next_wait(self, now: float) -> float:
        """Record a failure at ``now`` (seconds of any steady clock); return the seconds to wait."""
        calm = now - self.last_failure - self._raw() * (1 + JITTER)
        if calm > 0:
            self.level = max(0.0, self.level - calm / self._raw())
        wait = self._raw() * (1 + self.rng.uniform(-JITTER, JITTER))
        self.level += 1
        self.last_failure = now
        return min(wait, self.cap)


EAGER_WAIT = 0.1
EAGER_CAP = 5.0


@dataclass(slots=True, eq=False, repr=False)
class _History:
    """``patient`` paces what time triggers, ``eager`` what events do. Both outlive a success, and decay with time.

    ``planned`` is when the retry is to be that an event has forestalled.
    """

    patient: Backoff
    eager: Backoff
    attempts: int = 0
    eager_at: float = 0.0
    planned: float = 0.0


class Retries:
    """The attempts at every vertex that ever failed. ``default`` is how many follow where limits name no number."""

    def __init__(self, default: int, rng: random.Random) -> None:
        self._default = default
        self._rng = rng
        self._histories: dict[int, _History] = {}
        self.due: dict[int, float] = {}
        """When each vertex that will be retried is."""

    def failed(
        self, vertex: int, limits: Limits, now: float, *, fresh: bool = False, echoed: bool = False
    ) -> float | None:
        """An attempt failed. Returns the seconds to the next, or None when there is none left.

        ``fresh``: something new happened meanwhile, so the attempts are counted from zero. ``echoed``: something happened that may
        be no more than what the attempt did itself. No event is lost, so another attempt follows, also after the last;
        its wait grows with their number, however long each takes, for the event may be the attempt's own echo.
        """
        history = self._histories.get(vertex)
        if history is None:
            history = self._histories[vertex] = _History(
                Backoff(limits.delay, rng=self._rng), Backoff(EAGER_WAIT, EAGER_CAP, rng=self._rng)
            )
        history.eager_at = now + history.eager.next_wait(now)
        history.attempts = 1 if fresh else history.attempts + 1
        allowed = self._default if limits.retry is None else limits.retry
        is_last = allowed != UNLIMITED and history.attempts > allowed
        if is_last and not echoed:
            self.due.pop(vertex, None)
            return None
        wait = history.planned - now if history.planned > now else history.patient.next_wait(now)
        if is_last:
            wait = max(wait, history.patient.wait_after(history.attempts - 2))
        self.due[vertex] = now + wait
        return wait

    def began(self, vertex: int) -> None:
        """An attempt begins before the retry that is due. If it fails, that stays due when it was."""
        self._histories[vertex].planned = self.due.pop(vertex)

    def succeeded(self, vertex: int) -> None:
        """The vertex is ok again."""
        self.due.pop(vertex, None)
        self._histories[vertex].planned = 0.0
        self.count_anew(vertex)

    def count_anew(self, vertex: int) -> None:
        """Something new happened to a failed vertex: it gets all its attempts again."""
        self._histories[vertex].attempts = 0

    def is_first(self, vertex: int) -> bool:
        """Whether the attempt that failed last was the first since something new happened."""
        return self._histories[vertex].attempts == 1

    def earliest(self, vertex: int) -> float:
        """When an event may have a failed vertex tried again."""
        return self._histories[vertex].eager_at

    def forget(self, vertex: int) -> None:
        """The vertex is another now, or gone."""
        self._histories.pop(vertex, None)
        self.due.pop(vertex, None)


def causes_left(outcome: Outcome, carried: int) -> int:
    """Of the causes that a bad run ``carried``, as bits, those that are still due; what it did is not done again."""
    if outcome is Outcome.CRITICAL:
        return _REPAIR
    return carried & ~_DONE | _RETRY if outcome is Outcome.UNHEALTHY else carried
