"""Watches files of the kernel whose poll(2) tells of a change: mounts, the host name, attributes in /sys.

Such a change is announced as urgent data, for which trio can't wait, but epoll can: the files are in an epoll
descriptor of our own, and that is one trio can wait for. Yet asking it is what answers it: poll(2) of
/proc/self/mountinfo tells of a change once. What happens while nobody waits is forgotten when the wait begins, and
who is woken can't find out by which file. So every file is open twice. The bell only wakes; the ledger is looked at
once after each beginning of a wait, and says what has changed since it was last looked at.
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
    """Hears changes of any number of such files in one task, with two descriptors for each file."""

    serves = ReadinessWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._bell = select.epoll()
        self._ledger = select.epoll()
        self._files: dict[str, _File] = {}
        self._by_descriptor: dict[int, _File] = {}

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a ReadinessWatch. A file that can't be listened to is reported."""
        path = cast("ReadinessWatch", watch).path
        file = self._files.get(path)
        if file is None:
            try:
                file = _File(path, self._bell, self._ledger)
            except OSError as error:
                reason = f"can't listen to {path} ({error.strerror}); only the audit will notice drift"
                self.sink.report(WatchState.DOWN, reason, vertex)
                return
            self._files[path] = self._by_descriptor[file.number] = file
        file.vertices.add(vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Listen for a ReadinessWatch no longer."""
        path = cast("ReadinessWatch", watch).path
        file = self._files.get(path)
        if file is not None:
            file.vertices.discard(vertex)
            if not file.vertices:
                del self._files[path], self._by_descriptor[file.number]
                file.close()

    async def run(self) -> None:
        """Mark what the kernel tells of, until cancelled."""
        token = trio.lowlevel.current_trio_token()
        while True:
            token.run_sync_soon(self._look)  # soon is when the wait below has begun
            await trio.lowlevel.wait_readable(self._bell.fileno())

    def close(self) -> None:
        """Free the descriptors."""
        for file in self._files.values():
            file.close()
        trio.lowlevel.notify_closing(self._bell.fileno())
        self._bell.close()
        self._ledger.close()

    def _look(self) -> None:
        if self._ledger.closed:
            return
        for number, _ in self._ledger.poll(0):
            for vertex in self._by_descriptor[number].vertices:
                self.sink.mark(vertex)


class _File:
    """One file, open for the bell and for the ledger. Raises OSError when it is not there or has no poll(2)."""

    def __init__(self, path: str, bell: select.epoll, ledger: select.epoll) -> None:
        self.vertices: set[int] = set()
        with ExitStack() as opened:
            for listener in (bell, ledger):
                self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, self.number)
                # Edge-triggered: what is quiet again only when it is read, as in /sys, would ring for ever.
                listener.register(self.number, select.EPOLLPRI | select.EPOLLET)
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Free the descriptors, which takes them out of bell and ledger."""
        self._opened.close()
