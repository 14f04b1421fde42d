"""Limits when a vertex may start, apart from its place in the graph: by its group, its semaphores and its rate.

Part of the scheduler: no I/O and no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from reactor.engine.delay_queue import DelayQueue
from reactor.engine.limits import DEFAULT_LIMITS, Limits, Semaphores
from reactor.resource.base import Resource


def group_of(resource: Resource) -> Hashable | None:
    """The group of ``resource``: its kind, or the kinds it is grouped with, and its group key.

    None for a resource that is always applied alone.

    A resource with its own timeout is applied alone: others must not keep it waiting, and its timeout must not cut
    them off. So is one with a slot of the fleet: the others must not wait for it.
    """
    if not is_shared(resource) or resource.meta.timeout is not None or resource.slot is not None:
        return None
    key = resource.group_key()
    return None if key is None else (resource.grouped_as or resource.kind, key)


def is_shared(resource: Resource) -> bool:
    """Whether the kind of ``resource`` has groups. All resources of such a kind change one shared thing."""
    return type(resource).group_key is not Resource.group_key


class Members(tuple[int, ...]):  # noqa: SLOT001 - a tuple can't have slots for more
    """Two or more vertices of one group. ``of`` takes what a table has for each of them, much faster than a loop."""

    def __init__(self, vertices: Iterable[int]) -> None:  # noqa: ARG002 - the tuple has them
        self.of = itemgetter(*self)


@dataclass(slots=True, eq=False, repr=False)
class Batch:
    """Vertices of one group that run together.

    A member leaves ``members`` when its run ends; ``waiting`` wait for the next batch. ``leader`` started first.
    """

    group: Hashable
    leader: int
    members: set[int]
    waiting: list[int]


class BatchScheduler:
    """The batches that are running: at most one per group. Latecomers wait and form the next batch."""

    def __init__(self, limits: Mapping[int, Limits]) -> None:
        self._under_way: dict[Hashable, Batch] = {}
        self.batch: dict[int, Batch] = {}
        """The batch of each vertex that runs in one."""
        self.followers: deque[int] = deque()
        """Vertices that started together with the first of their batch, and that no worker has taken yet."""
        self.of: dict[int, Hashable] = {}
        """The group of each vertex that has one."""
        self._vertices: dict[Hashable, Sequence[int]] = {}
        self._with_limits: set[Hashable] = set()
        """The groups in which semaphores or a rate limit a vertex."""
        self.reshape(limits)

    def reshape(self, limits: Mapping[int, Limits]) -> None:
        """Switch to other groups; running batches do not change."""
        self.of.clear()
        self.of.update((vertex, limit.group) for vertex, limit in limits.items() if limit.group is not None)
        found: dict[Hashable, list[int]] = {}
        for vertex, group in self.of.items():
            found.setdefault(group, []).append(vertex)
        self._vertices = {group: Members(each) if each[1:] else each for group, each in found.items()}
        self._with_limits = {
            limit.group for limit in limits.values() if limit.semaphores or limit.rate is not None
        }

    def must_wait(self, vertex: int) -> bool:
        """Whether a batch of the group of ``vertex`` is already running.

        If so, `leave` returns ``vertex`` when that batch ends.
        """
        if (batch := self._under_way.get(self.of[vertex])) is None:
            return False
        batch.waiting.append(vertex)
        return True

    def others_of(self, vertex: int) -> Iterator[int]:
        """The other vertices of its group."""
        return (each for each in self._vertices[self.of[vertex]] if each != vertex)

    def idle_group_of(self, vertex: int) -> Members | None:
        """The group of ``vertex``; None if that is alone in it, while a batch of it runs, or if its starts are limited."""
        group = self.of.get(vertex)
        if group is None or group in self._under_way or group in self._with_limits:
            return None
        found = self._vertices[group]
        return found if isinstance(found, Members) else None

    def lead(self, leader: int, followers: Sequence[int]) -> None:
        """``leader`` and ``followers``, others of its group, have started: they form a batch."""
        group = self.of[leader]
        batch = Batch(group, leader, {leader, *followers}, [])
        self._under_way[group] = batch
        self.batch.update(dict.fromkeys(batch.members, batch))
        self.followers.extend(followers)

    def leave(self, vertex: int) -> list[int] | None:
        """The run of ``vertex`` ended. Return the latecomers if it was the last of its batch, else None."""
        batch = self.batch.pop(vertex)
        batch.members.discard(vertex)
        if batch.members:
            return None
        del self._under_way[batch.group]
        return batch.waiting


class Admission:
    """Enforces the limits of every vertex. Uses ``delay_queue`` to delay vertices that start too often."""

    def __init__(self, limits: Mapping[int, Limits], delay_queue: DelayQueue) -> None:
        self.limits = dict(limits)
        """Only the vertices that have limits of their own."""
        self.batches = BatchScheduler(self.limits)
        self.semaphores = Semaphores()
        self._delay_queue = delay_queue

    def limits_of(self, vertex: int) -> Limits:
        """The limits of ``vertex``."""
        return self.limits.get(vertex, DEFAULT_LIMITS)

    def admits(self, vertex: int, now: float) -> bool:
        """Whether ``vertex`` may start now. If not, `leave` of the vertex that prevents it returns ``vertex`` later."""
        limits = self.limits.get(vertex, DEFAULT_LIMITS)
        if limits.group is not None and self.batches.must_wait(vertex):
            return False
        if limits.semaphores and not self.semaphores.acquire(limits.semaphores, vertex):
            return False
        if limits.rate is not None:
            self._delay_queue.throttle_until(vertex, now + 1 / limits.rate)
        return True

    def leave(self, vertex: int) -> tuple[bool, list[int]]:
        """The run of ``vertex`` ended. Return whether its job ended too, and the vertices that may try to start again.

        A batch is one job: the job ends when the last member leaves. Call this for a vertex that ran in a batch or holds a
        semaphore; others end their jobs, and wake none.
        """
        waiting = self.batches.leave(vertex) if vertex in self.batches.batch else []
        woken = self.semaphores.release(vertex) if vertex in self.semaphores.held else []
        return waiting is not None, [*(waiting or ()), *woken]

    def reshape(self, limits: Mapping[int, Limits]) -> None:
        """Switch to other limits.

        Semaphores that were acquired under the old limits are released as they were acquired.
        """
        self.limits = dict(limits)
        self.batches.reshape(self.limits)
