"""Combines the status, the pauses and the socket of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from reactor.control.broadcast import Broadcast
from reactor.control.full_checks import Answering
from reactor.control.pause_controller import PauseController
from reactor.control.pause_file import PauseFile
from reactor.control.run_handle import RunHandle
from reactor.control.server import Server
from reactor.control.status_table import RunFacts, StatusTable
from reactor.engine.engine import Engine
from reactor.engine.events import Event, Reloaded
from reactor.metrics.tally import Tally

DRAIN_TIMEOUT = 1.0
"""Seconds that readers of the event stream have to read the last events."""


class Control:
    """The control of one run: a sink of its events, and a task beside its engine.

    ``directory`` is the state directory, which this run has locked; ``warn`` shows a warning. Every run with a state
    directory applies its pauses; a continuous run also ``listens`` on a socket. The socket serves the counts in ``tally``.
    """

    def __init__(
        self,
        directory: str | None,
        facts: RunFacts,
        refs: Sequence[str],
        warn: Callable[[str], None],
        tally: Tally,
        *,
        listens: bool,
    ) -> None:
        self.status_table = StatusTable(facts, refs)
        self.broadcast = Broadcast(warn)
        self.pause_controller: PauseController | None = None
        self.page_url: str | None = None
        """The address of the live page with its token; the socket shows it."""
        self.answering: Answering | None = None
        """Answers requests for a full check; None if it can't be requested."""
        self._tally = tally
        self._directory = directory
        self._warn = warn
        self._listens = listens
        self._server: Server | None = None
        self._renewed = trio.Event()

    def __call__(self, event: Event) -> None:
        """Take one event. Resources that a reload adds are paused before their first check."""
        self.status_table(event)
        self.broadcast(event)
        if type(event) is Reloaded and self.pause_controller is not None:
            self.pause_controller.apply()

    async def run(
        self, engine: Engine, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Open the socket, apply the pauses in the file, report started, then serve. ``engine`` must not run earlier.

        The socket is opened before the file is read, so no pause is lost: a command that finds no socket writes the
        pause to the file, and a later command uses the socket.
        """
        if self._directory is None:
            task_status.started()
            return
        self.pause_controller = PauseController(engine, PauseFile(self._directory, self._warn))
        run_handle = self.run_handle(engine)
        self._server = self._open(self._directory, run_handle)
        try:
            self.pause_controller.load()
            task_status.started()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.pause_controller.run)
                nursery.start_soon(self._serve, self._directory, run_handle)
        finally:
            if self._server is not None:
                self._server.close()

    async def _serve(self, directory: str, run_handle: RunHandle) -> None:
        """Serve the socket, and a new one after each `renew`."""
        while self._server is not None:
            self._renewed = trio.Event()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._server.run)
                await self._renewed.wait()
                nursery.cancel_scope.cancel()
            self._server.close()
            self._server = self._open(directory, run_handle)

    def is_lost(self) -> bool:
        """Whether the socket was removed."""
        return self._server is not None and self._server.is_lost()

    def renew(self) -> None:
        """Open a new socket after the old one was removed."""
        self._renewed.set()

    async def drain(self) -> None:
        """Send the readers of the event stream the last events and the end."""
        with trio.move_on_after(DRAIN_TIMEOUT):
            await self.broadcast.end()

    def run_handle(self, engine: Engine) -> RunHandle:
        """The handle that answers requests about the run."""
        run_handle = RunHandle(
            engine,
            self.status_table,
            self.broadcast,
            self.pause_controller,
            self._tally,
            page_url=self.page_url,
        )
        run_handle.answering = self.answering
        return run_handle

    def _open(self, directory: str, run_handle: RunHandle) -> Server | None:
        """The server of the socket; None if the socket can't be opened: the run goes on without it."""
        if not self._listens:
            return None
        try:
            return Server(directory, run_handle, self._warn)
        except OSError as error:
            self._warn(f"no control socket, so `reactor status` will not find this run: {error}")
            return None
