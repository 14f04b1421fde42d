"""Watches files of the kernel whose changes poll(2) announces: mounts, the host name, attributes in /sys.

Such a change is announced as urgent data. trio can't wait for that, but epoll can, and trio can wait for an epoll
descriptor. There is one difficulty: poll(2) of /proc/self/mountinfo announces a change only once. A change between two
waits is lost when the second begins, and a task that is woken can't find out which file has changed. So each file is
open twice, in two epoll descriptors: trio waits for ``_wakeups``; and whenever a wait has begun, ``_changes`` is
polled, which reports everything that has changed since its last poll.
"""

from __future__ import annotations

import os
import select
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

import trio

from reactor import Watch, Watcher, WatchSink, WatchState

MOUNTS = "/proc/self/mountinfo"
HOST_NAME = "/proc/sys/kernel/hostname"


@dataclass(frozen=True, slots=True)
class ReadinessWatch(Watch):
    """A change that poll(2) of the file at ``path`` announces with POLLPRI or POLLERR."""

    path: str


class ReadinessWatcher(Watcher):
    """Watches any number of such files in one task, with two descriptors for each file."""

    serves = ReadinessWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._wakeups = select.epoll()
        self._changes = select.epoll()
        self._files: dict[str, _File] = {}
        self._by_descriptor: dict[int, _File] = {}

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a ReadinessWatch. A file that can't be listened to is reported."""
        path = cast("ReadinessWatch", watch).path
        file = self._files.get(path)
        if file is None:
            try:
                file = _File(path, self._wakeups, self._changes)
            except OSError as error:
                reason = f"can't listen to {path} ({error.strerror}); only the audit will notice drift"
                self.sink.report(WatchState.DOWN, reason, vertex)
                return
            self._files[path] = self._by_descriptor[file.number] = file
        file.vertices.add(vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a ReadinessWatch."""
        path = cast("ReadinessWatch", watch).path
        file = self._files.get(path)
        if file is not None:
            file.vertices.discard(vertex)
            if not file.vertices:
                del self._files[path], self._by_descriptor[file.number]
                file.close()

    async def run(self) -> None:
        """Mark the vertices of changed files, until cancelled."""
        token = trio.lowlevel.current_trio_token()
        while True:
            token.run_sync_soon(self._look)  # it runs once the wait below has begun
            await trio.lowlevel.wait_readable(self._wakeups.fileno())

    def close(self) -> None:
        """Free the descriptors."""
        for file in self._files.values():
            file.close()
        trio.lowlevel.notify_closing(self._wakeups.fileno())
        self._wakeups.close()
        self._changes.close()

    def _look(self) -> None:
        if self._changes.closed:
            return
        for number, _ in self._changes.poll(0):
            for vertex in self._by_descriptor[number].vertices:
                self.sink.mark(vertex)


class _File:
    """One file, open once for each epoll descriptor. Raises OSError when it does not exist or has no poll(2)."""

    def __init__(self, path: str, wakeups: select.epoll, changes: select.epoll) -> None:
        self.vertices: set[int] = set()
        with ExitStack() as opened:
            for listener in (wakeups, changes):
                self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, self.number)
                # Edge-triggered: a file of /sys stays ready until it is read, and would wake the task forever.
                listener.register(self.number, select.EPOLLPRI | select.EPOLLET)
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Free the descriptors, which also removes them from both epoll descriptors."""
        self._opened.close()
