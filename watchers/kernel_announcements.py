"""The base of watchers with one netlink socket, on which the kernel announces changes to all who listen."""

from __future__ import annotations

import errno
import socket
from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable
from typing import ClassVar, Final, cast

import trio

from reactor import Watch, Watcher, WatchSink, WatchState
from reactor.watchers.netlink_socket import READ_SIZE

_READS_AT_ONCE: Final = 32
"""Reads before the vertices are marked: the announcements of one change should cause one check."""


class AnnouncementWatcher(Watcher):
    """Marks vertices when the kernel announces a change of their subject. The socket is opened with the first watch."""

    about: ClassVar[str]
    """What the announcements are about, for messages."""
    unheard: ClassVar[str] = "drift"
    """What only the audit notices where the kernel announces nothing."""

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._vertices: dict[Hashable, dict[int, None]] = {}
        self._socket: socket.socket | None = None
        self._opened = trio.Event()

    @abstractmethod
    def listen(self) -> socket.socket:
        """A socket that gets the announcements, and never blocks. Raises OSError."""

    @abstractmethod
    def subject_of(self, watch: Watch) -> Hashable:
        """What the watch waits for a change of."""

    @abstractmethod
    def changed_in(self, message: bytes) -> Iterable[Hashable]:
        """The subjects that what was read from the socket says have changed."""

    def subjects_among(self, changed: Collection[Hashable]) -> Iterable[Hashable]:
        """The watched subjects that have changed, by the names in ``changed``. Usually both have the same names."""
        return [each for each in changed if each in self._vertices]

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for the watch. If the kernel does not allow it, that is reported."""
        self._vertices.setdefault(self.subject_of(watch), {})[vertex] = None
        if self._socket is None:
            try:
                self._socket = self.listen()
            except OSError as error:
                reason = (
                    f"the kernel does not announce changes of {self.about} ({error.strerror}); "
                    f"only the audit will notice {self.unheard}"
                )
                self.sink.report(WatchState.DOWN, reason, vertex)
                return
            self._opened.set()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for the watch."""
        subject = self.subject_of(watch)
        vertices = self._vertices.get(subject, {})
        vertices.pop(vertex, None)
        if not vertices:
            self._vertices.pop(subject, None)

    async def run(self) -> None:
        """Mark the vertices of changed subjects, until cancelled. Raises OSError when the socket is dead."""
        await self._opened.wait()
        await self.sink.follow(self._wait, self._read)

    def close(self) -> None:
        """Free the descriptor."""
        if self._socket is not None:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            self._socket = None

    async def _wait(self) -> None:
        await trio.lowlevel.wait_readable(cast("socket.socket", self._socket))

    def _read(self) -> None:
        changed: dict[Hashable, None] = {}
        try:
            for _ in range(_READS_AT_ONCE):
                message = cast("socket.socket", self._socket).recv(READ_SIZE)
                changed.update(dict.fromkeys(self.changed_in(message)))
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            self.sink.mark_all(f"the netlink buffer of {self.about} overflowed")
        if changed:
            marks = {vertex for each in self.subjects_among(changed) for vertex in self._vertices[each]}
            for vertex in sorted(marks):
                self.sink.mark(vertex)
