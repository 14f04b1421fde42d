"""Limits from a resource's ``meta``: when and how often the engine may check it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from reactor.named_tuple import NamedTuple
from reactor.resource.common_properties import Meta, RefreshDebounce, Slot

UNLIMITED = -1


class Limits(NamedTuple):
    """The limits of one vertex, as the scheduler uses them. Times in seconds, ``rate`` in checks per second."""

    retry: int | None = None
    delay: float = 1.0
    rate: float | None = None
    semaphores: tuple[str, ...] = ()
    noop: bool = False
    """Whether nothing may be changed: in a dry run, or with ``mode: warn``."""
    is_read_only: bool = False
    """Whether no run changes it, because of its own ``noop`` or ``mode: warn``."""
    quiet: RefreshDebounce | None = None
    group: Hashable | None = None
    """Vertices of the same group may be applied in one batch."""
    slot: Slot | None = None
    """The slot of the fleet that a check takes before it changes anything."""

    @classmethod
    def of(cls, meta: Meta, *, noop: bool) -> Limits:
        """The limits of a resource; ``noop`` is the setting of the whole run."""
        read_only = meta.is_read_only
        return cls(
            meta.retry, meta.delay, meta.limit, meta.semaphores, noop or read_only, read_only, meta.quiet
        )


DEFAULT_LIMITS = Limits()


@dataclass(slots=True, eq=False, repr=False)
class Semaphores:
    """Counting semaphores. A vertex acquires all of its semaphores or none, so that no order of acquiring can deadlock.

    ``name`` lets one vertex run at a time, ``name:3`` lets three; the same name with another count is another
    semaphore.
    """

    _free: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, deque[int]] = field(default_factory=dict)
    held: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The semaphores that each vertex has acquired. Its limits may change before it releases them."""

    def acquire(self, names: tuple[str, ...], vertex: int) -> bool:
        """Acquire all of ``names`` for ``vertex`` and return True.

        If one of them is in use, acquire none, remember the vertex, and return False.
        """
        for name in names:
            if self._free.setdefault(name, _count(name)) == 0:
                self._waiting.setdefault(name, deque()).append(vertex)
                return False
        for name in names:
            self._free[name] -= 1
        self.held[vertex] = names
        return True

    def release(self, vertex: int) -> list[int]:
        """Release all semaphores of ``vertex``. Return the vertices that should try again."""
        woken: list[int] = []
        for name in self.held.pop(vertex):
            self._free[name] += 1
            waiting = self._waiting.pop(name, None)
            if waiting:
                woken += waiting
        return woken


def _count(name: str) -> int:
    _, _, count = name.rpartition(":")
    return int(count) if count.isdigit() and count != name else 1
