"""The watcher for named pipes: whoever writes a line to one asks for a check."""

from __future__ import annotations

import os
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
        self._pipes: dict[int, int] = {}
        self._send, self._receive = trio.open_memory_channel[int](float("inf"))

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Open the pipe for reading and writing, so that it never reports an end."""
        assert isinstance(watch, PipeWatch)
        pipe = os.open(watch.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._pipes[pipe] = vertex
        self._send.send_nowait(pipe)

    async def run(self) -> None:
        """Start a reader for each pipe that was armed."""
        async with trio.open_nursery() as nursery:
            async for pipe in self._receive:
                nursery.start_soon(self._read, pipe)

    async def _read(self, pipe: int) -> None:
        while True:
            await trio.lowlevel.wait_readable(pipe)
            os.read(pipe, 65536)
            self.sink.mark(self._pipes[pipe])

    def close(self) -> None:
        """Give the descriptors back."""
        for pipe in self._pipes:
            os.close(pipe)
