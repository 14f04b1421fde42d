"""The option of ``run`` that shows it live, in a browser."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reactor.cli.messages import fail, with_hint
from reactor.cli.options.metrics import address_of, reporting_listen_errors

if TYPE_CHECKING:
    from reactor.cli.running.state import State
    from reactor.console.display import Display
    from reactor.control.address import Address
    from reactor.control.control import Control
    from reactor.control.tcp_listener import TcpListener
    from reactor.graph.graph import Graph
    from reactor.ui.live_page import LivePage


def ui_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--ui``."""
    option = click.option(
        "--ui",
        metavar="HOST:PORT",
        callback=address_of,
        help="Show the run live, on a page at http://HOST:PORT/, as in 127.0.0.1:8470.",
    )
    return option(command)


def check_live_page_option(context: click.Context) -> None:
    """Raises UsageError where the option makes no sense."""
    if context.params.get("ui") is not None and context.params.get("converge_once"):
        raise with_hint(
            click.UsageError("--ui is for a run that stays", context), "leave --converge-once out"
        )


class PageListener(NamedTuple):
    """Where the page is to be. What keeps it from being there ends the command with ``bad_usage``."""

    port: TcpListener
    bad_usage: int

    def open(self, control: Control, graph: Graph, state: State, display: Display) -> LivePage:
        """The page of a run. A token that can't be kept ends the command."""
        from reactor.ui.access import Access
        from reactor.ui.details import PageHistory
        from reactor.ui.live_page import LivePage

        openly = not _is_read_by_others(sys.stderr.fileno())
        if state.path is None and not openly:
            text = "nobody could learn the token of the page: others read what we write, and there is no control socket"
            fail(
                "R0703", text, "run it from a terminal, or without --noop and --monitor-only", self.bad_usage
            )
        try:
            access = Access.to(self.port.address, state.path)
        except OSError as error:
            fail(
                "R0602",
                f"can't keep the token of the page: {error}",
                "leave --ui out, or make room",
                self.bad_usage,
            )
        display.notify(access.told(openly=openly))
        control.page_url = access.url
        past = PageHistory(state.path, state.journal) if state.path and state.journal else None
        return LivePage(self.port, access, control, graph, past)


def _is_read_by_others(descriptor: int) -> bool:
    """Whether what we write there is for more people than the one who starts us: the journal, or a file others may read."""
    from reactor.console.journald import leads_to_journal

    found = os.fstat(descriptor)
    is_open = stat.S_ISREG(found.st_mode) and bool(found.st_mode & (stat.S_IRGRP | stat.S_IROTH))
    return is_open or leads_to_journal(descriptor)


@contextmanager
def live_page_listener(address: Address | None, bad_usage: int) -> Iterator[PageListener | None]:
    """Listen where the user wants the page. A port that can't be had ends the command."""
    if address is None:
        yield None
        return
    from reactor.control.tcp_listener import TcpListener

    with reporting_listen_errors(address, "--ui", bad_usage):
        port = TcpListener(address)
    with closing(port):
        yield PageListener(port, bad_usage)
