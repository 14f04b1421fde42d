"""How long to wait before trying again: capped, jittered, and forgiving with time rather than with luck."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

GROWTH = 2.0
JITTER = 0.1
CAP = 300.0


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
        """The seconds to wait after so many ``failures`` in a row, without jitter."""
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
