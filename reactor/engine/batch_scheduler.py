"""Who is applied together: the resources of one group that are ready when the first of them starts.

No I/O and no clock: this is a part of the scheduler. `batch_apply` has what the members do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from reactor.engine.limits import Limits
from reactor.resource.base import Resource


def group_of(resource: Resource) -> Hashable | None:
    """What makes resources one group: kind and key. None for one that is always applied alone.

    One with a timeout of its own is: it must not be kept waiting by others, nor cut them off.
    """
    if not is_shared(resource) or resource.meta.timeout is not None:
        return None
    key = resource.group_key()
    return None if key is None else (resource.kind, key)


def is_shared(resource: Resource) -> bool:
    """Whether the resources of its kind have groups: then what they change is one thing."""
    return type(resource).group_key is not Resource.group_key


@dataclass(slots=True, eq=False, repr=False)
class Batch:
    """Vertices of one group that run together. ``members`` leave it as their runs end; ``late`` wait for the next."""

    group: Hashable
    members: set[int]
    late: list[int]


class BatchScheduler:
    """The parties that are under way: at most one of each group, so that who comes later goes together, too."""

    def __init__(self, limits: Mapping[int, Limits]) -> None:
        self._under_way: dict[Hashable, Batch] = {}
        self.batch: dict[int, Batch] = {}
        """The party of each vertex that runs in one."""
        self.followers: deque[int] = deque()
        """Those that run since the first of their party started, and are still to be handed out."""
        self.of: dict[int, Hashable] = {}
        """The group of each vertex that has one."""
        self._vertices: dict[Hashable, list[int]] = {}
        self.reshape(limits)

    def reshape(self, limits: Mapping[int, Limits]) -> None:
        """Go on with other groups; parties that are under way end as they began."""
        self.of.clear()
        self.of.update((vertex, limit.group) for vertex, limit in limits.items() if limit.group is not None)
        self._vertices.clear()
        for vertex, group in self.of.items():
            self._vertices.setdefault(group, []).append(vertex)

    def is_late(self, vertex: int) -> bool:
        """Whether a party of its group is under way already; then ``vertex`` is ready again when that is over."""
        if (batch := self._under_way.get(self.of[vertex])) is None:
            return False
        batch.late.append(vertex)
        return True

    def lead(self, leader: int, start: Callable[[int], bool]) -> None:
        """``leader`` has started: whoever of its group ``start`` can start as well comes along."""
        group = self.of[leader]
        followers = [vertex for vertex in self._vertices[group] if vertex != leader and start(vertex)]
        batch = Batch(group, {leader, *followers}, [])
        self._under_way[group] = batch
        self.batch.update(dict.fromkeys(batch.members, batch))
        self.followers.extend(followers)

    def leave(self, vertex: int) -> list[int] | None:
        """The run of ``vertex`` ended. Returns who was late once the last of its party has left, else None."""
        batch = self.batch.pop(vertex)
        batch.members.discard(vertex)
        if batch.members:
            return None
        del self._under_way[batch.group]
        return batch.late
