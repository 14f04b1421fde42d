"""Writes lines to a descriptor without making the event loop wait for a slow reader."""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable

import trio

CHUNK = select.PIPE_BUF
"""Bytes that a writable pipe takes without blocking."""

LIMIT = 16 << 20
"""Characters that may wait for a reader: memory stays bounded. What comes beyond waits for the reader, or is lost."""


class Writer:
    """Collects text; the task `run` writes it.

    So a paused ``less`` or a stopped terminal never delays repairs. The descriptor stays in blocking mode, because other
    processes share it; a terminal is opened a second time, until the process ends. When the reader is gone, ``broken`` is
    set and all further text is dropped. For any other error, such as a full disk, ``complain`` is called once, and only
    the text of that write is lost.

    With ``lost_line``, lines beyond `LIMIT` are lost, and the line that it makes of their number takes their place.
    Without it, `write` then blocks until the reader takes some.
    """

    def __init__(
        self,
        descriptor: int,
        complain: Callable[[str], None] | None = None,
        lost_line: Callable[[int], str] | None = None,
    ) -> None:
        self._descriptor = _unblocked(descriptor) if os.isatty(descriptor) else descriptor
        self._pending: list[str] = []
        self._pending_size = 0
        self._lost = 0
        self._lost_line = lost_line
        self._rest = memoryview(b"")
        self._wake = trio.Event()
        self.broken = trio.Event()
        self._complain = complain
        self._can_wait = _can_wait(descriptor)
        self.prefix = b""
        """Written before each batch of lines; the progress bar erases itself with it."""

    @property
    def idle(self) -> bool:
        """Whether everything has been written."""
        return not self._pending and not self._rest

    def write(self, text: str) -> None:
        """Take whole lines, each with its newline, and without secrets."""
        if self.broken.is_set():
            return
        if self._lost_line and self._pending_size > LIMIT:
            self._lost += text.count("\n")
            return
        self._pending.append(text)
        self._pending_size += len(text)
        if len(self._pending) == 1:
            self._wake.set()
        elif self._pending_size > LIMIT and not self._lost_line:
            self.flush()

    async def run(self) -> None:
        """Write collected text, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            if self._pending:
                self._take()
            while self._rest:
                if self._can_wait:
                    await trio.lowlevel.wait_writable(self._descriptor)
                self._put(CHUNK if self._can_wait else len(self._rest))

    def hurry(self) -> None:
        """Write as much as the reader takes now; `run` writes the rest."""
        while not self.idle and (not self._can_wait or select.select((), (self._descriptor,), (), 0)[1]):
            if not self._rest:
                self._take()
            self._put(CHUNK)

    def flush(self) -> None:
        """Write all collected text, however long the reader takes."""
        while not self.idle:
            if not self._rest:
                self._take()
            if self._can_wait:
                select.select((), (self._descriptor,), ())
            self._put(len(self._rest))

    def _take(self) -> None:
        if self._lost and self._lost_line:
            self._pending.append(self._lost_line(self._lost))
            self._lost = 0
        batch = "".join(self._pending).encode(errors="backslashreplace")
        self._pending.clear()
        self._pending_size = 0
        self._rest = memoryview(self.prefix + batch)

    def _put(self, size: int) -> None:
        try:
            written = os.write(self._descriptor, self._rest[:size])
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        self._rest = self._rest[written:]

    def _fail(self, error: OSError) -> None:
        self._rest = memoryview(b"")
        if error.errno in (errno.EPIPE, errno.ECONNRESET, errno.EIO):
            self._pending.clear()
            self.broken.set()
        elif self._complain is not None:
            complain, self._complain = self._complain, None
            complain(f"output is lost: {error.strerror}")


def _unblocked(terminal: int) -> int:
    """The same terminal opened again, non-blocking: a writable terminal may have room for one character only."""
    try:
        return os.open(f"/proc/self/fd/{terminal}", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # the terminal belongs to another user, as after su; or there is no /proc
        return terminal


def _can_wait(descriptor: int) -> bool:
    """Whether the descriptor can be polled. Files can't: they are always writable."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
