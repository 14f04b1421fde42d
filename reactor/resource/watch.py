"""Declarations of what could make a resource drift. For each type of declaration, a watcher listens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol


class Watch:
    """The base of all declarations. They are frozen dataclasses: equal ones are the same watch."""

    __slots__ = ()


class ChangedPaths:
    """The paths of a tree that events named since the last check, passed from the watcher to the check.

    The listener adds paths before it marks the resource. If it does not know them (events were lost, a directory was
    created or removed, it has just started), it calls `lose`: then everything must be read. The same holds if a check
    runs although no event came: it has another cause, such as the audit.
    """

    MOST: ClassVar[int] = 1000
    """How many paths are recorded. Reading more of them one by one is no faster than reading the whole tree."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._is_lost = True

    def add(self, path: str) -> None:
        """An event happened at this absolute path."""
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
        """Return and clear the paths to read; None means everything."""
        taken = None if self._is_lost or not self._paths else frozenset(self._paths)
        self._paths.clear()
        self._is_lost = False
        return taken


@dataclass(frozen=True, slots=True)
class PathWatch(Watch):
    """The thing at an absolute path: its content, attributes and existence, whatever inode it is.

    With ``below``, the path is a directory, and everything in it at any depth is watched too; each path there that has
    an event is added to ``below``. Symlinks in it are not followed. Directories in it whose names are in ``without`` are
    not entered, at any depth; ``*`` stands for all. ``is_input`` marks a path that is only read, such as the source of a
    copy: a program that writes it without closing it gets more time before the event is reported. ``is_name`` means that
    only what is at the path matters, not its content and attributes.
    """

    path: str
    below: ChangedPaths | None = None
    is_input: bool = False
    without: frozenset[str] = frozenset()
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class TimerWatch(Watch):
    """A check every ``interval`` seconds, for things that send no events."""

    interval: float


class WatchState(StrEnum):
    """The state of a watcher."""

    ARMED = "armed"
    POLLING = "polling"
    DEGRADED = "degraded"
    DOWN = "down"


class WatchSink(Protocol):
    """The engine's side of a watcher. All methods but `follow` return at once: a watcher never waits for a check."""

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        """Report that something may have changed ``vertex``; check it after ``delay`` seconds."""

    def mark_all(self, reason: str) -> None:
        """Report that events were lost: everything that this watcher serves may have changed."""

    def report(self, state: WatchState, reason: str, vertex: int | None = None) -> None:
        """Report the state of the watcher, for one vertex or (``None``) as a whole."""

    async def follow(self, wait: Callable[[], Awaitable[None]], handle: Callable[[], None]) -> None:
        """Await ``wait`` and call ``handle``, in a loop. Raises the exceptions of both.

        The loop runs in a task of the engine, which also checks the vertices that ``handle`` marks. So these checks
        start sooner than others.
        """
        while True:
            await wait()
            handle()


class Watcher(ABC):
    """One source of events, turned into marks. It only reads, coalesces and wakes the scheduler.

    The engine makes one instance per source, arms every watch declared for it, and runs it until the end. If ``run``
    or ``arm`` raises, the engine closes the instance, marks all vertices it served, and starts a new one.
    """

    serves: ClassVar[type[Watch]]

    def __init__(self, sink: WatchSink) -> None:
        self.sink = sink

    @abstractmethod
    async def arm(self, watch: Watch, vertex: int) -> None:
        """Start to listen for ``watch``. After this returns, no change of it is missed."""

    @abstractmethod
    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for ``watch`` on behalf of ``vertex``."""

    @abstractmethod
    async def run(self) -> None:
        """Read the source and mark vertices, until cancelled. Raises when the source is dead."""

    @abstractmethod
    def close(self) -> None:
        """Close the source's descriptors. Called once, also after a failure."""
