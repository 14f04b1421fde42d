"""What the state of the scheduler means for the whole run: whether it is under way, at rest or converged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from reactor.engine.admission import BatchScheduler
from reactor.engine.blocking import Blocking
from reactor.engine.delay_queue import DelayQueue
from reactor.engine.readiness import Readiness
from reactor.engine.retries import Retries


class SchedulerStatus(ABC):
    """The questions about a scheduler, most of them about it as a whole. `Scheduler` has the state."""

    active: int
    jobs: int
    without_job: set[int]
    batches: BatchScheduler
    order: Readiness
    blocking: Blocking
    delay_queue: DelayQueue
    _retries: Retries
    _paused: set[int]

    @property
    @abstractmethod
    def has_ready(self) -> bool:
        """Whether `next_ready` may return a vertex."""

    @property
    def most_at_once(self) -> int:
        """The most vertices that may run now: for each job one, or a whole batch, and those without a job."""
        return self.jobs + len(self.batches.batch) + max(self.jobs, len(self.without_job))

    @property
    def under_way(self) -> bool:
        """Whether a check runs or will start, not counting retries and paused vertices."""
        delays = self.delay_queue
        return bool(self.active or delays.start_at or delays.resting or self.has_ready or self.order.is_held)

    @property
    def exhausted(self) -> bool:
        """Whether nothing will happen without a new mark. Valid after `next_ready` returned None."""
        return not (self.under_way or self._retries.due)

    @property
    def at_rest(self) -> bool:
        """Whether nothing is due, including retries."""
        return not (self.order.active_count or self._retries.due or self.delay_queue.resting)

    @property
    def converged(self) -> bool:
        """Whether no vertex is active, failed or blocked."""
        waits = self.order.active_count or self.delay_queue.resting
        return not (waits or self.blocking.failed or self.blocking.blocked)

    @property
    def retry_times(self) -> Mapping[int, float]:
        """When each failed vertex will be retried."""
        return self._retries.due

    def is_paused(self, vertex: int) -> bool:
        """Whether ``vertex`` is paused."""
        return vertex in self._paused

    def in_motion(self, vertex: int) -> bool:
        """Whether ``vertex`` is active: dirty or running."""
        return bool(self.order.active[vertex])
