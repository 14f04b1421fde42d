"""One run of the engine with all that accompanies it: signals, display, the end of the reader."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.cli.reloading import Reloader
from reactor.cli.signals import Interruption
from reactor.console.display import Display
from reactor.engine.engine import Engine
from reactor.engine.events import Blocked, Checked, Ended, Event, Result, Skipped
from reactor.engine.options import Options
from reactor.graph.graph import Graph


def converge(
    graph: Graph, options: Options, display: Display, reloader: Reloader | None = None
) -> tuple[Ended, Interruption]:
    """Run an engine to its end and show it. With a ``reloader``, the run follows its manifest."""
    engine = Engine(graph, options, display)
    interruption = Interruption(engine, display.tell, reload=reloader.request if reloader else None)
    if reloader:
        reloader.attach(engine)
    return trio.run(_accompanied, engine, interruption, display, reloader), interruption


def look(graph: Graph, tell: Callable[[str], None]) -> tuple[dict[str, str], Interruption]:
    """Check every resource once and change nothing; return the state of each."""
    states: dict[str, str] = {}

    def note(event: Event) -> None:
        match event:
            case Checked():
                states[event.ref] = event.result
            case Blocked():
                states[event.ref] = Result.BLOCKED
            case Skipped():
                states[event.ref] = Result.SKIPPED

    engine = Engine(graph, Options(noop=True), note)
    interruption = Interruption(engine, tell)
    trio.run(_accompanied, engine, interruption)
    return states, interruption


async def _accompanied(
    engine: Engine,
    interruption: Interruption,
    display: Display | None = None,
    reloader: Reloader | None = None,
) -> Ended:
    async with trio.open_nursery() as nursery:
        await nursery.start(interruption.listen)
        if display:
            nursery.start_soon(display.run)
            nursery.start_soon(_stop_without_reader, engine, display)
        if display and reloader:
            nursery.start_soon(reloader.run, engine, display)
        ended = await engine.run()
        nursery.cancel_scope.cancel()
    return ended


async def _stop_without_reader(engine: Engine, display: Display) -> None:
    """End quietly, as a filter does, when the program behind our pipe has had enough."""
    await display.reader_gone.wait()
    engine.stop()
