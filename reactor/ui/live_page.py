"""The live page of one run: a sink of its events, and a task beside its engine.

It costs almost nothing while no page is open.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.control.control import DRAIN_TIMEOUT, Control
from reactor.control.run_handle import RunHandle
from reactor.control.server import serve
from reactor.control.tcp_listener import TcpListener
from reactor.engine.engine import Engine
from reactor.engine.events import Checked, Event, Reloaded, Reversed, Reversing
from reactor.graph.graph import Graph
from reactor.ui.access import Access
from reactor.ui.drawing import Drawing
from reactor.ui.event_buffer import Diffs, EventBuffer
from reactor.ui.page_history import PageHistory
from reactor.ui.page_stream import PageStream
from reactor.ui.status_stream import StatusStream

_RESHAPING = (Reloaded, Reversing, Reversed)


class LivePage:
    """The live page of the run under ``control``, served on ``port`` to clients with the token in ``access``.

    ``graph`` is the first graph of the run; ``past`` reads its journal, if it has one.
    """

    engine: Engine
    run_handle: RunHandle
    resource_statuses: StatusStream
    page_stream: PageStream

    def __init__(
        self, port: TcpListener, access: Access, control: Control, graph: Graph, past: PageHistory | None
    ) -> None:
        self.access = access
        self.drawing = Drawing(graph)
        self.event_buffer = EventBuffer(control.status_table.facts.started)
        self.diffs = Diffs()
        self.past = past
        self._port = port
        self._control = control

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self.event_buffer(event)
        if type(event) is Checked:
            if event.diffs:
                self.diffs.keep(event.ref, event.time, event.diffs)
        elif isinstance(event, _RESHAPING):
            self.drawing.changed()

    async def run(self, engine: Engine, warn: Callable[[str], None]) -> None:
        """Serve until cancelled. ``warn`` shows a warning."""
        self.engine = engine
        self.run_handle = self._control.run_handle(engine)
        self.resource_statuses = StatusStream(engine, self._control.status_table)
        self.page_stream = PageStream(
            self.run_handle, self.resource_statuses, self.drawing, self.event_buffer, warn
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.page_stream.run)
            nursery.start_soon(serve, self._port.listener, "reactor.ui.application", self, warn)

    async def drain(self) -> None:
        """Send every open page the end of the run."""
        with trio.move_on_after(DRAIN_TIMEOUT):
            await self.page_stream.end()
