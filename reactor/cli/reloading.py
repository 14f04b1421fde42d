"""Loads the manifest anew when its file changes, or when asked to, and hands a valid one to the running engine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import trio

from reactor.cli.manifests import report
from reactor.engine.engine import Engine
from reactor.engine.events import Event, ReloadRejected
from reactor.graph.graph import Graph
from reactor.resource.diagnostic import ManifestError
from reactor.resource.watch import PathWatch

SETTLE = 0.01
"""Seconds to wait after a change: an editor that replaces a file does so in several steps."""


class Reloader:
    """Keeps a run on the latest valid manifest. An invalid one changes nothing, and is told with all its problems.

    ``load`` reads the manifest at ``path`` and returns its graph, or raises ManifestError; it is called in a
    thread, so that checks go on meanwhile.
    """

    def __init__(self, path: str, load: Callable[[], Graph]) -> None:
        self._path = os.path.abspath(path)
        self._load = load
        self._wanted = trio.Event()

    def request(self) -> None:
        """Ask for a reload; several requests may be one."""
        self._wanted.set()

    def attach(self, engine: Engine) -> None:
        """Listen to the manifest's own file."""
        engine.listen(PathWatch(self._path), self.request)

    async def run(self, engine: Engine, emit: Callable[[Event], None]) -> None:
        """Reload on request, until cancelled."""
        while True:
            await self._wanted.wait()
            await trio.sleep(SETTLE)
            self._wanted = trio.Event()
            try:
                graph = await trio.to_thread.run_sync(self._load)
            except ManifestError as error:
                problems = tuple(f"{each.place or self._path}: {each.message}" for each in error.diagnostics)
                report(error.diagnostics, as_json=False)
                emit(ReloadRejected(time.time(), problems))
            else:
                engine.reload(graph)
