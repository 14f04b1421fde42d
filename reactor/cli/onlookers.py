"""What lets people look at a run, and pause parts of it: the control socket, the metrics, the live page.

Imported only by a run that has one of them: it takes a while.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from reactor.cli.page import opened_page
from reactor.control.board import RunFacts
from reactor.control.control import Control
from reactor.metrics.tally import Tally
from reactor.resource.registry import watcher_names

if TYPE_CHECKING:
    from reactor.cli.session import Company
    from reactor.cli.state import State
    from reactor.console.display import Display
    from reactor.control.port import Port
    from reactor.engine.options import Options
    from reactor.graph.graph import Graph


def looked_at(
    company: Company,
    manifest: str,
    graph: Graph,
    options: Options,
    state: State,
    display: Display,
    window: Port | None,
    bad_usage: int,
) -> Company:
    """``company``, and all through which the run of ``manifest`` can be looked at. The page goes behind ``window``.

    A run that ends by itself only honours the pauses in its state directory.
    """
    tally = Tally(graph.refs, watcher_names(), time.time())
    control = None
    if state.directory is not None or window is not None:
        facts = RunFacts(manifest, os.getpid(), time.time(), noop=options.noop)
        directory = None if state.directory is None else state.directory.path
        control = Control(directory, facts, graph.refs, display.warn, tally, listens=options.watch)
    page = opened_page(window, control, graph, state, display, bad_usage)
    return company._replace(control=control, tally=tally if options.watch else None, page=page)
