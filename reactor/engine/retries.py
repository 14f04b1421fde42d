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

    Each failure doubles the wait, from ``base`` up to ``cap`` seconds, with ±10 % jitter so that many vertices that
    fail together do not retry together. One success does not reset it: otherwise something that fails every second
    time would never slow down. Instead, the wait is halved each time a whole wait passes without a failure. The time of
    a slow attempt is no such time: failures in a row double the wait, however long each takes.
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

    def next_wait(self, now: float, in_a_row: int = 1) -> float:
        """Record a failure at ``now`` (seconds on a steady clock). Return the seconds to wait.

        It is the ``in_a_row``-th failure without a success between them, or a later one.
        """
        calm = now - self.last_failure - self._raw() * (1 + JITTER)
        if calm > 0:
            self.level -= calm / self._raw()
        self.level = max(self.level, in_a_row - 1.0)
        wait = self._raw() * (1 + self.rng.uniform(-JITTER, JITTER))
        self.level = min(self.level + 1, self._highest)
        self.last_failure = now
        return min(wait, self.cap)

    @property
    def _highest(self) -> float:
        """The level of the longest wait: further failures take no longer to be forgotten."""
        return max(0.0, math.log(self.cap / self.base, GROWTH))


EAGER_WAIT = 0.1
EAGER_CAP = 5.0


@dataclass(slots=True, eq=False, repr=False)
class _History:
    """``patient`` is the backoff of retries, ``eager`` that of checks after events.

    Both survive a success, and decay with time. ``planned`` is when a retry is due if an event has started an attempt
    before it. ``in_a_row`` counts the failures of attempts after a wait.
    """

    patient: Backoff
    eager: Backoff
    attempts: int = 0
    in_a_row: int = 0
    eager_at: float = 0.0
    planned: float = 0.0


class Retries:
    """The attempts at every vertex that ever failed. ``default`` is the number of retries if the limits give none."""

    def __init__(self, default: int, rng: random.Random) -> None:
        self._default = default
        self._rng = rng
        self._histories: dict[int, _History] = {}
        self.due: dict[int, float] = {}
        """When each vertex will be retried."""

    def failed(
        self, vertex: int, limits: Limits, now: float, *, fresh: bool = False, echoed: bool = False
    ) -> float | None:
        """An attempt failed. Return the seconds until the next one, or None if none is left.

        ``fresh``: something new happened meanwhile, so attempts are counted from zero. ``echoed``: an event came that
        the attempt may have caused itself. No event may be lost, so another attempt follows even after the last one.
        Since the event may be only an echo, the wait grows with the number of attempts, however long each takes.
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
        if history.planned > now:
            wait = history.planned - now
        elif is_last:
            wait = history.patient.next_wait(now)
        else:
            history.in_a_row = 1 if fresh else history.in_a_row + 1
            wait = history.patient.next_wait(now, history.in_a_row)
        if is_last:
            wait = max(wait, history.patient.wait_after(history.attempts - 2))
        self.due[vertex] = now + wait
        return wait

    def began(self, vertex: int) -> None:
        """An attempt begins before its retry is due. If it fails, the retry stays due at the same time."""
        self._histories[vertex].planned = self.due.pop(vertex)

    def succeeded(self, vertex: int) -> None:
        """The vertex is ok again."""
        self.due.pop(vertex, None)
        self._histories[vertex].planned = 0.0
        self.reset_attempts(vertex)

    def reset_attempts(self, vertex: int) -> None:
        """Something new happened to a failed vertex: give it all its attempts again."""
        history = self._histories[vertex]
        history.attempts = history.in_a_row = 0

    def is_first(self, vertex: int) -> bool:
        """Whether the last failed attempt was the first since something new happened."""
        return self._histories[vertex].attempts == 1

    def earliest(self, vertex: int) -> float:
        """The earliest time at which an event may start another attempt of a failed vertex."""
        return self._histories[vertex].eager_at

    def forget(self, vertex: int) -> None:
        """The vertex has another resource, or has left the graph."""
        self._histories.pop(vertex, None)
        self.due.pop(vertex, None)


def causes_left(outcome: Outcome, carried: int) -> int:
    """The causes, as bits, that are still due after a failed run that ``carried`` them.

    Finished work is not repeated.
    """
    if outcome is Outcome.CRITICAL:
        return _REPAIR
    return carried & ~_DONE | _RETRY if outcome is Outcome.UNHEALTHY else carried
