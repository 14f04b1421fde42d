"""The fleet page: its routes, and its interface to the fleet. It uses no network itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import PurePath
from typing import Protocol

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from reactor.control.connection import place_of
from reactor.control.requests import cancel_at_disconnect, failure_handlers
from reactor.graph.export.colours import css_variables
from reactor.ui.access import Access
from reactor.ui.request_guard import RequestGuard

_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SHARED = ("dom.js", "format.js")
"""Modules of the live page that this one uses too."""


class FleetSource(Protocol):
    """The source of the state of the fleet."""

    def metrics(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics in the format that a client prefers, and its media type."""


@dataclass
class FleetPage:
    """``text``: the newest picture of the fleet as JSON; `show` replaces it, and every open page gets it."""

    access: Access
    source: FleetSource
    text: str = "{}"
    _news: trio.Event = field(default_factory=trio.Event)

    def show(self, text: str) -> None:
        """Send a picture to every page."""
        self.text = text
        news, self._news = self._news, trio.Event()
        news.set()

    async def next(self) -> None:
        """Wait until there is another picture."""
        await self._news.wait()


def application(page: FleetPage, warn: Callable[[str], None]) -> RequestGuard:
    """The ASGI application of the page. ``warn`` is called for a bug in a request."""
    served = _files()

    async def index(_request: Request) -> Response:
        return _file(served, "index.html")

    async def file(request: Request) -> Response:
        return _file(served, request.path_params["name"])

    async def fleet(_request: Request) -> Response:
        return Response(page.text, media_type="application/json")

    async def metrics(request: Request) -> Response:
        body, media_type = page.source.metrics(request.headers.get("accept", ""))
        return Response(body, media_type=media_type)

    routes = [
        Route("/", index),
        Route("/page/{name}", file),
        Route("/fleet", fleet),
        Route("/metrics", metrics),
        Route("/stream", FleetStream(page), methods=["GET"]),
    ]
    handlers = failure_handlers(_error, "the fleet page", "docs/fleet.md", warn)
    return RequestGuard(Starlette(routes=routes, exception_handlers=handlers), page.access)


class FleetStream:
    """The stream of the page, as an ASGI application: each event is a whole picture. A slow client misses some."""

    def __init__(self, page: FleetPage) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        place_of(scope).stay()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cancel_at_disconnect, receive, nursery.cancel_scope)
            headers = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            sent = ""
            while True:
                if sent != self._page.text:
                    sent = self._page.text
                    body = f"event: fleet\ndata: {sent}\n\n".encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                else:
                    await self._page.next()


def _files() -> dict[str, bytes]:
    found = {each.name: each.read_bytes() for each in (files("reactor.ui") / "fleet_page").iterdir()}
    found.update({name: (files("reactor.ui") / "page" / name).read_bytes() for name in _SHARED})
    return {**found, "colours.css": css_variables().encode()}


def _file(served: dict[str, bytes], name: str) -> Response:
    if name not in served:
        raise HTTPException(404)
    return Response(served[name], media_type=_MEDIA_TYPES.get(PurePath(name).suffix))


def _error(status: int, message: str, hint: str | None, code: str | None) -> Response:
    return JSONResponse({"error": message, "hint": hint, "code": code}, status)
