"""What could make a resource drift: declarations only. A watcher listens to each kind of declaration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol


class Watch:
    """The base of all declarations: frozen dataclasses, for equal ones are the same."""

    __slots__ = ()


class ChangedPaths:
    """Which paths of a tree events were about since the last look: from the watcher to the check.

    The listener adds them, before it marks the resource. What it can't tell in detail (events that were lost, a directory
    that came or went, the start) is `lose`: then all is to be looked at. So it is when a check comes and nothing was
    heard: it has another cause, such as the audit.
    """

    MOST: ClassVar[int] = 1000
    """Paths that are kept. To look at more of them one by one is no faster than to look at all there is."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._is_lost = True

    def add(self, path: str) -> None:
        """Something happened at this absolute path."""
        if self._is_lost:
            return
        self._paths.add(path)
        if len(self._paths) > self.MOST:
            self.lose()

    def lose(self) -> None:
        """Anything may have changed."""
        self._is_lost = True
        self._paths.clear()

    def take(self) -> frozenset[str] | None:
        """The paths to look at, which are then forgotten; None for all there are."""
        taken = None if self._is_lost or not self._paths else frozenset(self._paths)
        self._paths.clear()
        self._is_lost = False
        return taken


@dataclass(frozen=True, slots=True)
class PathWatch(Watch):
    """The thing at an absolute path: its content, attributes and existence, whatever inode it is.

    With ``below`` it is a directory and all that is in it, at any depth; each path of it that something happens to is
    added there. Symlinks in it are not followed. What is only read, such as the source of a copy, ``is_input``: who
    writes it without closing it is left more time before that is told.
    """

    path: str
    below: ChangedPaths | None = None
    is_input: bool = False


@dataclass(frozen=True, slots=True)
class TimerWatch(Watch):
    """A check every ``interval`` seconds, for what sends no events."""

    interval: float


class WatchState(StrEnum):
    """The state of a watcher."""

    ARMED = "armed"
    POLLING = "polling"
    DEGRADED = "degraded"
    DOWN = "down"


class WatchSink(Protocol):
    """Where a watcher's findings go. All but `follow` returns at once; a watcher never waits for a check."""

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        """Say that something about ``vertex`` may have changed; check it after ``delay`` seconds."""

    def mark_all(self, reason: str) -> None:
        """Say that events were lost: everything this watcher serves may have changed."""

    def report(self, state: WatchState, reason: str, vertex: int | None = None) -> None:
        """Report the state of the watcher, for one vertex or (``None``) as a whole."""

    async def follow(self, wait: Callable[[], Awaitable[None]], handle: Callable[[], None]) -> None:
        """Await ``wait`` and call ``handle``, for ever. Raises what either of them raises.

        The engine checks what ``handle`` marks in the same task, sooner than what is marked elsewhere.
        That task is not the caller's.
        """
        while True:
            await wait()
            handle()


class Watcher(ABC):
    """One source of events, turned into marks. It reads, coalesces and wakes the scheduler, nothing else.

    The engine makes one instance per source, arms every watch declared for it, and runs it until the end.
    When ``run`` or ``arm`` raises, the engine closes the instance, marks all it served, and starts a new one.
    """

    serves: ClassVar[type[Watch]]

    def __init__(self, sink: WatchSink) -> None:
        self.sink = sink

    @abstractmethod
    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for ``watch``; on return, no later change of it goes unnoticed."""

    @abstractmethod
    def disarm(self, watch: Watch, vertex: int) -> None:
        """Listen for ``watch`` no longer, on behalf of ``vertex``."""

    @abstractmethod
    async def run(self) -> None:
        """Read the source and mark, until cancelled. Raises when the source is dead."""

    @abstractmethod
    def close(self) -> None:
        """Free the source's descriptors. Called once, also after a failure."""
