"""A file system with a server that can be stopped: a real FUSE, which shows another directory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import trio

GUARD = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for the condition itself, with a guard."""
    deadline = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


async def until(condition: Callable[[], object]) -> None:
    """The same in the event loop."""
    with trio.fail_after(GUARD):
        while not condition():  # noqa: ASYNC110 - nobody else tells of it
            await trio.sleep(0.002)


class Served(NamedTuple):
    """What is mounted at ``point``, and is in ``source``."""

    point: Path
    source: Path
    server: int

    def stop(self) -> None:
        """Let nothing there be answered any more."""
        os.kill(self.server, signal.SIGSTOP)
        os.waitid(os.P_PID, self.server, os.WSTOPPED)

    def go_on(self) -> None:
        """Let everything be answered again."""
        os.kill(self.server, signal.SIGCONT)


@contextmanager
def served(point: Path, source: Path) -> Iterator[Served]:
    """Mount ``source`` at ``point`` for as long as the block lasts."""
    source.mkdir(exist_ok=True)
    point.mkdir()
    with subprocess.Popen(["bindfs", "-f", source, point]) as server:
        try:
            wait_until(lambda: f" {point} " in Path("/proc/self/mountinfo").read_text())
            yield Served(point, source, server.pid)
        finally:
            # Not by SIGTERM: a copy of the mount in another mount namespace can keep the server from ending.
            server.kill()
            server.wait()
            subprocess.run(["umount", "--lazy", point], stderr=subprocess.DEVNULL, check=False)
