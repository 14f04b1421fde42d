"""The option of ``run`` that shows it live, in a browser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reactor.cli.messages import fail, hinted
from reactor.cli.metrics import address_of, refusing_port

if TYPE_CHECKING:
    from reactor.cli.state import State
    from reactor.console.display import Display
    from reactor.control.address import Address
    from reactor.control.control import Control
    from reactor.control.port import Port
    from reactor.graph.graph import Graph
    from reactor.ui.live import LivePage


def ui_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--ui``."""
    option = click.option(
        "--ui",
        metavar="HOST:PORT",
        callback=address_of,
        help="Show the run live, on a page at http://HOST:PORT/, as in 127.0.0.1:8470.",
    )
    return option(command)


def refuse_page(context: click.Context) -> None:
    """Raises UsageError where the option makes no sense."""
    if context.params.get("ui") is not None and context.params.get("converge_once"):
        raise hinted(click.UsageError("--ui is for a run that stays", context), "leave --converge-once out")


class Window(NamedTuple):
    """Where the page is to be. What keeps it from being there ends the command with ``bad_usage``."""

    port: Port
    bad_usage: int

    def open(self, control: Control, graph: Graph, state: State, display: Display) -> LivePage:
        """The page of a run. A token that can't be kept ends the command."""
        from reactor.console.journald import leads_to_journal
        from reactor.ui.access import Access
        from reactor.ui.live import LivePage
        from reactor.ui.past import Past

        try:
            access = Access.to(self.port.address, state.path)
        except OSError as error:
            text = f"can't keep the token of the page: {error}"
            fail(text, "make room, or listen on 127.0.0.1", self.bad_usage)
        display.tell(access.told(openly=not leads_to_journal(sys.stderr.fileno())))
        past = Past(state.path, state.journal) if state.path and state.journal else None
        return LivePage(self.port, access, control, graph, past)


@contextmanager
def page_window(address: Address | None, bad_usage: int) -> Iterator[Window | None]:
    """Listen where the user wants the page. A port that can't be had ends the command."""
    if address is None:
        yield None
        return
    from reactor.control.port import Port

    with refusing_port(address, "--ui", bad_usage):
        port = Port(address)
    with closing(port):
        yield Window(port, bad_usage)
