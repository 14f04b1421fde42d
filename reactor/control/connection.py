"""One connection of a client. Imports Hypercorn and Starlette: only continuous runs need them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from starlette.applications import Starlette

IDLE = 30
"""Seconds that a client may let pass without a request."""


def connection_handler(
    application: Starlette, tell: Callable[[str], None]
) -> Callable[[trio.SocketStream], Awaitable[None]]:
    """What serves ``application`` to one accepted stream. Whatever a client does, it costs only that client its connection."""
    wrapped = ASGIWrapper(cast(Any, application))
    config = Config()
    config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = IDLE
    context = WorkerContext(None)

    async def serve(stream: trio.SocketStream) -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_close_when_cancelled, stream)
                state = ConnectionState({"drop": nursery.cancel_scope.cancel})
                await _Server(wrapped, config, context, state, cast(Any, stream))
                nursery.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - a bug met by one client must not end the run
            tell(f"a connection of a client failed: {type(error).__name__}: {error}")

    return serve


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
