"""One connection of a client. Imports Hypercorn and Starlette: only continuous runs need them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from starlette.types import ASGIApp, Receive, Scope, Send

IDLE = 30
"""Seconds that a client may let pass without a request."""

PATIENCE = 60
"""Seconds that a request may take from its head to when the client has taken the answer. Hypercorn sets no limit there."""


def connection_handler(
    application: ASGIApp, tell: Callable[[str], None]
) -> Callable[[trio.SocketStream], Awaitable[None]]:
    """What serves ``application`` to one accepted stream. Whatever a client does, it costs only that client its connection."""
    wrapped = ASGIWrapper(cast(Any, _limited(application)))
    config = Config()
    config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = IDLE
    context = WorkerContext(None)

    async def serve(stream: trio.SocketStream) -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_close_when_cancelled, stream)
                state = ConnectionState({"connection": nursery.cancel_scope})
                await _Server(wrapped, config, context, state, cast(Any, stream))
                nursery.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - a bug met by one client must not end the run
            tell(f"a connection of a client failed: {type(error).__name__}: {error}")

    return serve


def stay(scope: Scope) -> trio.CancelScope:
    """The connection of a request whose answer may last, until somebody cancels it."""
    connection: trio.CancelScope = scope["state"]["connection"]
    connection.deadline = math.inf
    return connection


def _limited(application: ASGIApp) -> ASGIApp:
    """``application``, with a limit in time to each request; `stay` lifts it."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["connection"].deadline = trio.current_time() + PATIENCE
        await application(scope, receive, send)

    return limited


class _Server(TCPServer):
    """Hypercorn's, but one whose client has gone is over: it would hold its place for `IDLE` seconds more."""

    async def _read_data(self) -> None:
        try:
            await super()._read_data()
        except trio.BusyResourceError:  # it left in the middle of a request, and two want to tell it so
            await self.protocol.handle(Closed())
        await self.idle_task.stop()


async def _close_when_cancelled(stream: trio.SocketStream) -> None:
    """Hypercorn shields its writes from cancellation; only closing the socket ends one to a client that never reads."""
    try:
        await trio.sleep_forever()
    finally:
        stream.socket.close()
