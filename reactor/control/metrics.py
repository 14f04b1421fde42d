"""Serves ``/metrics`` over HTTP: on the control socket, and optionally on a separate TCP port."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from importlib import import_module
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from reactor.control.connection import place_of
from reactor.control.listen_address import names_loopback
from reactor.control.tcp_listener import ServedMetrics
from reactor.engine.engine import Engine
from reactor.metrics.tally import Tally
from reactor.resource.threads import in_thread

METRICS = "/metrics"
"""The path that Prometheus scrapes by default."""


async def metrics_response(request: Request, tally: Tally, engine: Engine) -> Response:
    """The metrics in the format that the client prefers. `reactor.metrics.page` is imported in a thread."""
    page: Any = await in_thread(import_module, "reactor.metrics.page")
    body, media_type = page.render(tally, engine, request.headers.get("accept", ""))
    return Response(body, media_type=media_type, headers={"Cache-Control": "no-store"})


def application(shown: ServedMetrics, warn: Callable[[str], None]) -> Starlette:
    """The ASGI application that serves the metrics of a run on a TCP port, with a token if it has one.

    ``warn`` is called for a bug in a request.
    """
    expected = None if shown.token is None else f"Bearer {shown.token}".encode()

    async def metrics(request: Request) -> Response:
        if expected is None and not names_loopback(request.headers.get("host", "")):
            text = "without a token, metrics are served for localhost and 127.0.0.1 only\n"
            return PlainTextResponse(text, 421)
        given = request.headers.get("authorization", "").encode("latin-1")
        if expected is not None and not hmac.compare_digest(given, expected):
            text = "the token is missing or wrong: send it as 'Authorization: Bearer TOKEN'\n"
            return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})
        if expected is not None:
            place_of(request.scope).admitted = True
        return await metrics_response(request, shown.tally, shown.engine)

    async def failed(_request: Request, error: Exception) -> Response:
        warn(f"the metrics could not be shown: {type(error).__name__}: {error}")
        return PlainTextResponse("this is a bug in reactor; please report it\n", 500)

    return Starlette(routes=[Route(METRICS, metrics)], exception_handlers={Exception: failed})
