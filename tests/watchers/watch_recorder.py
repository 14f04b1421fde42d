"""What the watcher tests share: a sink that keeps what it is told."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trio
from trio.testing import wait_all_tasks_blocked

from reactor.resource.watch import PathWatch, WatchSink, WatchState
from reactor.watchers.inotify import InotifyWatcher

_QUEUE_LENGTH = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def open_descriptors() -> Counter[str]:
    """How many descriptors this process has open, by what they are."""
    gc.collect()  # what earlier tests have left is not to go while this one counts
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that listed the directory
            found[re.sub(r"\[\d+\]", "", os.readlink(f"/proc/self/fd/{number}"))] += 1
    return found


class Recorder(WatchSink):
    """A sink that keeps what it is told, and wakes who waits for it."""

    def __init__(self) -> None:
        self.marks: list[tuple[int, float]] = []
        self.losses: list[str] = []
        self.reports: list[tuple[WatchState, str, int | None]] = []
        self._new_data = trio.Event()

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        self.marks.append((vertex, delay))
        self._new_data.set()

    def mark_all(self, reason: str) -> None:
        self.losses.append(reason)
        self._new_data.set()

    def report(self, state: WatchState, reason: str, vertex: int | None = None) -> None:
        self.reports.append((state, reason, vertex))
        self._new_data.set()

    @property
    def marked(self) -> set[int]:
        return {vertex for vertex, _ in self.marks}

    @property
    def states(self) -> dict[int | None, WatchState]:
        return {vertex: state for state, _, vertex in self.reports}

    async def until(self, condition: Callable[[], object]) -> None:
        """Return as soon as what was told fulfils the condition."""
        with trio.fail_after(60):
            while not condition():
                await self._new_data.wait()
                self._new_data = trio.Event()

    async def next_marks(self, *vertices: int) -> None:
        """Wait until all of the vertices were marked and nothing more is on its way; then forget the marks."""
        await self.until(lambda: self.marked.issuperset(vertices))
        await wait_all_tasks_blocked(0.001)
        self.marks.clear()


class Watching:
    """An inotify watcher at work."""

    def __init__(self, watcher: InotifyWatcher, sink: Recorder) -> None:
        self.watcher = watcher
        self.sink = sink

    async def arm(self, *paths: object, first: int = 0) -> None:
        """Watch each path for a vertex of its own, numbered from ``first``."""
        for vertex, path in enumerate(paths, first):
            await self.watcher.arm(PathWatch(str(path)), vertex)


@asynccontextmanager
async def watching() -> AsyncIterator[Watching]:
    sink = Recorder()
    watcher = InotifyWatcher(sink)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await wait_all_tasks_blocked()
            yield Watching(watcher, sink)
            nursery.cancel_scope.cancel()
    finally:
        watcher.close()


def watch_count(watch: Watching) -> int:
    """How many watches the kernel has for it."""
    return Path(f"/proc/self/fdinfo/{watch.watcher._descriptor.fileno()}").read_text().count("inotify wd:")


def overflow_queue(directory: Path) -> None:
    """More events than the queue holds, while nobody reads."""
    (directory / "x").touch()
    for _ in range(_QUEUE_LENGTH // 4 + 10):  # each rename has two events, which the kernel never merges
        (directory / "x").rename(directory / "y")
        (directory / "y").rename(directory / "x")
