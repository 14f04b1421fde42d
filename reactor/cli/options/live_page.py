"""The option ``--ui`` of ``run``: the live page."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import fail, with_hint
from reactor.cli.options.metrics import address_of, reporting_listen_errors
from reactor.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reactor.cli.running.state import State
    from reactor.console.display import Display
    from reactor.control.control import Control
    from reactor.control.listen_address import Address
    from reactor.control.tcp_listener import TcpListener
    from reactor.graph.graph import Graph
    from reactor.ui.live_page import LivePage


def ui_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--ui``."""
    option = click.option(
        "--ui",
        metavar="HOST:PORT",
        callback=address_of,
        help="Serve the live page at http://HOST:PORT/, such as 127.0.0.1:8470.",
    )
    return option(command)


def check_live_page_option(context: click.Context) -> None:
    """Raise UsageError if the option contradicts another one."""
    if context.params.get("ui") is not None and context.params.get("converge_once"):
        raise with_hint(click.UsageError("--ui needs a continuous run", context), "remove --converge-once")


class PageListener(NamedTuple):
    """The listening socket of the live page. An error ends the command with the exit code ``bad_usage``."""

    port: TcpListener
    bad_usage: int

    def open(self, control: Control, graph: Graph, state: State, display: Display) -> LivePage:
        """The live page of a run. Ends the command if the token can't be stored."""
        from reactor.ui.access import Access
        from reactor.ui.live_page import LivePage
        from reactor.ui.page_history import PageHistory

        is_private = not _is_read_by_others(sys.stderr.fileno())
        if state.path is None and not is_private:
            text = "the token of the page can't be shown: other users can read the output, and there is no control socket for 'reactor ui'"
            fail(
                "R0703", text, "run it from a terminal, or without --noop and --monitor-only", self.bad_usage
            )
        try:
            access = Access.to(self.port.address, state.path)
        except OSError as error:
            fail(
                "R0602",
                f"can't store the token of the page: {error}",
                "free disk space, or remove --ui",
                self.bad_usage,
            )
        display.notify(access.message(with_token=is_private))
        control.page_url = access.url
        past = PageHistory(state.path, state.journal) if state.path and state.journal else None
        return LivePage(self.port, access, control, graph, past)


def _is_read_by_others(descriptor: int) -> bool:
    """Whether other users can read ``descriptor``: it is the systemd journal, or a file that they may read."""
    from reactor.console.style import leads_to_journal

    found = os.fstat(descriptor)
    is_open = stat.S_ISREG(found.st_mode) and bool(found.st_mode & (stat.S_IRGRP | stat.S_IROTH))
    return is_open or leads_to_journal(descriptor)


@contextmanager
def live_page_listener(address: Address | None, bad_usage: int) -> Iterator[PageListener | None]:
    """Listen on the address of the live page. Ends the command if that fails."""
    if address is None:
        yield None
        return
    from reactor.control.tcp_listener import TcpListener

    with reporting_listen_errors(address, "--ui", bad_usage):
        port = TcpListener(address)
    with closing(port):
        yield PageListener(port, bad_usage)
