"""Lets a connection that goes on follow a change of its options, such as the addresses of servers."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.errors import ReactorError
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import UnreachableError
from reactor.fleet.link.options import Options
from reactor.fleet.link.servers import Pool
from reactor.fleet.link.status import Status


async def follow_options(
    connection: Connection,
    read: Callable[[], Options],
    interval: float,
    tell: Callable[[ReactorError], None] = lambda _: None,
) -> None:
    """Until cancelled, connect as ``read`` says: to other servers at once, with all else at the next connection.

    It is asked when the connection is lost or can't be made, and each ``interval`` seconds. An error of it changes
    nothing; ``tell`` gets each once, until there is none.
    """
    lost, told = trio.Event(), ""

    def note(status: Status) -> None:
        if not status.up:
            lost.set()

    with connection.watched(note):
        while True:
            with trio.move_on_after(interval):
                await lost.wait()
            lost = trio.Event()
            try:
                _use(connection, read())
            except ReactorError as error:
                if error.message != told:
                    tell(error)
                told = error.message
            else:
                told = ""


def _use(connection: Connection, options: Options) -> None:
    """Raises ContextError for the URL of a server that is not one."""
    if options == connection.options:
        return
    connection.pool = Pool(options.servers)
    connection.options = options
    if connection.status.server not in map(str, connection.pool):
        connection.leave(UnreachableError(f"{options.origin} names other servers now"))
