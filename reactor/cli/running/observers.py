"""What lets people look at a run, and pause parts of it: the control socket, the metrics, the live page.

Imported only by a run that has one of them: it takes a while.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from reactor.control.control import Control
from reactor.control.status_table import RunFacts
from reactor.metrics.tally import Tally
from reactor.resource.registry import watcher_names

if TYPE_CHECKING:
    from reactor.cli.options.live_page import Window
    from reactor.cli.running.state import State
    from reactor.console.display import Display
    from reactor.engine.options import RunOptions
    from reactor.graph.graph import Graph
    from reactor.ui.live_page import LivePage


class Observers(NamedTuple):
    """What looks on, and through which people do. What nobody asked for is None."""

    control: Control | None
    tally: Tally | None
    page: LivePage | None


def observers_of(
    manifest: str, graph: Graph, options: RunOptions, state: State, display: Display, window: Window | None
) -> Observers:
    """The onlookers of a run of ``manifest``. One that ends by itself only honours the pauses in its state directory."""
    tally = Tally(graph.refs, watcher_names(), time.time())
    control = page = None
    if state.path is not None or window is not None:
        facts = RunFacts(manifest, os.getpid(), time.time(), noop=options.noop)
        control = Control(state.path, facts, graph.refs, display.warn, tally, listens=options.watch)
        page = None if window is None else window.open(control, graph, state, display)
    return Observers(control, tally if options.watch else None, page)
