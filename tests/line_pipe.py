"""Reads the lines of a process that a test has started: when none comes, the test fails with what was read, and goes on."""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import contextmanager

GUARD = 120.0
"""Seconds until a line that does not come is a failure: a busy machine is slow."""
_CHUNK = 8192
_SHOWN = 5000


class LinePipe:
    """The reading end of a pipe, in place of ``process.stdout``. Silence for ``seconds`` is an AssertionError."""

    def __init__(self, pipe, seconds=GUARD):
        self._pipe = pipe
        self._seconds = seconds
        self._coming = b""
        self._read = b""
        self._is_text = hasattr(pipe, "encoding")
        self.encoding, self.errors = getattr(pipe, "encoding", None), getattr(pipe, "errors", None)
        self.fileno, self.close = pipe.fileno, pipe.close

    @property
    def closed(self):
        return self._pipe.closed

    def readline(self):
        """The next line with its end; what is left, or nothing, when the pipe has ended."""
        while b"\n" not in self._coming and self._more():
            pass
        line, end, self._coming = self._coming.partition(b"\n")
        return self._made(line + end)

    def read(self):
        """All that is left."""
        while self._more():
            pass
        left, self._coming = self._coming, b""
        return self._made(left)

    def __iter__(self):
        return iter(self.readline, "" if self._is_text else b"")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _more(self):
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        if not poll.poll(self._seconds * 1000):
            read = (self._read + self._coming).decode(errors="replace")[-_SHOWN:]
            raise AssertionError(f"no line came within {self._seconds:g} s; what came before: {read!r}")
        chunk = os.read(self._pipe.fileno(), _CHUNK)
        self._coming += chunk
        return bool(chunk)

    def _made(self, data):
        self._read = (self._read + data)[-_SHOWN:]
        return data.decode(self.encoding or "utf-8", self.errors or "strict") if self._is_text else data


def with_deadline(process, seconds=GUARD):
    """``process``, the pipes of which fail instead of waiting for ever."""
    for name in ("stdout", "stderr"):
        if (pipe := getattr(process, name)) is not None:
            setattr(process, name, LinePipe(pipe, seconds))
    return process


@contextmanager
def started(command, **options):
    """A process for a block, with its lines under a deadline. It is killed if the block fails: nothing waits for it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield with_deadline(process)
        except BaseException:
            process.kill()
            raise
