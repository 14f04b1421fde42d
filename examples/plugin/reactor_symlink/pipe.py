"""The watcher for named pipes: a line that is written to one asks for a check."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import trio

from reactor import Watch, Watcher, WatchSink


@dataclass(frozen=True, slots=True)
class PipeWatch(Watch):
    """Anything that is written to the named pipe at ``path``."""

    path: str


class PipeWatcher(Watcher):
    """Reads named pipes, one task each."""

    serves: ClassVar[type[Watch]] = PipeWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._pipes: dict[tuple[str, int], int] = {}
        self._send, self._receive = trio.open_memory_channel[tuple[int, int]](float("inf"))

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Open the pipe for reading and writing, so that it never reports an end."""
        assert isinstance(watch, PipeWatch)
        pipe = os.open(watch.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._pipes[watch.path, vertex] = pipe
        self._send.send_nowait((pipe, vertex))

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Close the pipe; the reader that waits on it ends."""
        assert isinstance(watch, PipeWatch)
        pipe = self._pipes.pop((watch.path, vertex))
        trio.lowlevel.notify_closing(pipe)
        os.close(pipe)

    async def run(self) -> None:
        """Start a reader for each pipe that was armed."""
        async with trio.open_nursery() as nursery:
            async for pipe, vertex in self._receive:
                nursery.start_soon(self._read, pipe, vertex)

    async def _read(self, pipe: int, vertex: int) -> None:
        with suppress(trio.ClosedResourceError):
            while True:
                await trio.lowlevel.wait_readable(pipe)
                os.read(pipe, 65536)
                self.sink.mark(vertex)

    def close(self) -> None:
        """Give the descriptors back."""
        for pipe in self._pipes.values():
            os.close(pipe)
