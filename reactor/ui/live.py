"""The live page of one run: a sink of its events, and a task beside its engine. Costs next to nothing while nobody looks."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.control.control import FAREWELL, Control
from reactor.control.port import Port
from reactor.control.server import serve
from reactor.control.subject import Subject
from reactor.engine.engine import Engine
from reactor.engine.events import Checked, Event, Reloaded, Reversed, Reversing
from reactor.graph.graph import Graph
from reactor.ui.access import Access
from reactor.ui.diffs import Diffs
from reactor.ui.drawing import Drawing
from reactor.ui.news import News
from reactor.ui.past import Past
from reactor.ui.pulse import Pulse
from reactor.ui.standings import Standings

_RESHAPING = (Reloaded, Reversing, Reversed)


class LivePage:
    """What the page shows of the run under ``control``, from ``port``, to those who have ``access``.

    ``graph`` is the one the run starts with, ``past`` its journal if there is one.
    """

    engine: Engine
    subject: Subject
    standings: Standings
    pulse: Pulse

    def __init__(self, port: Port, access: Access, control: Control, graph: Graph, past: Past | None) -> None:
        self.access = access
        self.drawing = Drawing(graph)
        self.news = News(control.board.facts.started)
        self.diffs = Diffs()
        self.past = past
        self._port = port
        self._control = control

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self.news(event)
        if type(event) is Checked:
            if event.diffs:
                self.diffs.keep(event.ref, event.time, event.diffs)
        elif isinstance(event, _RESHAPING):
            self.drawing.changed()

    async def run(self, engine: Engine, tell: Callable[[str], None]) -> None:
        """Serve until cancelled. ``tell`` reaches the person at the terminal."""
        self.engine = engine
        self.subject = self._control.subject(engine)
        self.standings = Standings(engine, self._control.board)
        self.pulse = Pulse(self.subject, self.standings, self.drawing, self.news, tell)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.pulse.run)
            nursery.start_soon(serve, self._port.listener, "reactor.ui.application", self, tell)

    async def farewell(self) -> None:
        """The run is over: let those who look have its end."""
        with trio.move_on_after(FAREWELL):
            await self.pulse.end()
