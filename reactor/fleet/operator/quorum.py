"""Whether the server of a connection can store anything, or has lost the others of its cluster: then another one may do."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.fleet.bucket_names import HOSTS
from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import (
    ApiError,
    LinkError,
    NoAnswerError,
    NoRespondersError,
    UnreachableError,
)
from reactor.fleet.link.status import Status

INTERVAL = 5.0
"""Seconds between two looks of a command that follows."""
_ANSWER = 1.0
"""The time limit in seconds of one answer. A server that has lost the others takes half of it."""
_MOVE = 3.0
"""The time limit in seconds for the connection to another server."""
_SOUGHT_AGAIN = 60
"""Looks after which all servers are tried once more."""
_ELECTION = 2
"""Looks in a row after which it is no election of a leader any more, in which all are without one."""


async def has_quorum(connection: Connection) -> bool:
    """Whether JetStream has a leader at the server. True if it does not say: the command itself gets a better error.

    Every user of an operator may ask this. Raises DisconnectedError.
    """
    try:
        info = await JetStreamApi(connection, seconds=_ANSWER).stream_info(f"KV_{HOSTS}")
    except NoAnswerError as error:
        return isinstance(error, NoRespondersError)
    except ApiError as error:
        return error.status != 503  # noqa: PLR2004 - as of HTTP
    except LinkError:
        if not connection.up:
            raise
        return True
    cluster = info.get("cluster")
    return cluster is None or bool(cluster.get("leader"))


async def reach_quorum(connection: Connection) -> bool:
    """Go to other servers, to each once, until one has a quorum. Return whether one has. Raises DisconnectedError."""
    tried = set()
    while not await has_quorum(connection):
        server = connection.status.server
        if server in tried or len(connection.pool) == 1:
            return False
        tried.add(server)
        await _leave(connection, server)
    return True


async def _leave(connection: Connection, server: str) -> None:
    arrived = trio.Event()

    def look(status: Status) -> None:
        if status.up:
            arrived.set()

    with connection.watched(look), trio.move_on_after(_MOVE):
        words = f"the NATS server {server} has lost the others of its cluster, and another one is tried"
        connection.leave(UnreachableError(words, "see the log of this server, and its routes to the others"))
        await arrived.wait()


async def follow_quorum(connection: Connection, tell: Callable[[bool], None], had: bool = True) -> None:
    """Look until cancelled, and try other servers while this one has no quorum.

    ``tell`` gets each change: whether there is one. ``had``: what was told before.
    """
    missed = 0
    while True:
        await trio.sleep(INTERVAL)
        await connection.wait_up()
        try:
            has = await has_quorum(connection)
            missed = 0 if has else missed + 1
            if missed and missed % _SOUGHT_AGAIN == _ELECTION:
                has = await reach_quorum(connection)
        except LinkError:
            continue  # who follows is told of lost connections
        if has != had and (has or missed >= _ELECTION):
            tell(has)
            had = has
