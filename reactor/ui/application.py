"""The routes of the live page. ``docs/live-page.md`` describes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import trio
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from reactor.control.connection import place_of
from reactor.control.pause_file import is_valid_duration
from reactor.control.requests import (
    BadRequestError,
    body_of,
    cancel_at_disconnect,
    failure_handlers,
    reason_of,
    refuse,
)
from reactor.control.run_handle import NoPausesError
from reactor.graph.export.colours import css_variables
from reactor.resource.property_types import parse_duration
from reactor.resource.redaction import redacted
from reactor.resource.time_slice import TimeSlice
from reactor.ui.details import details
from reactor.ui.drawing import DrawingError
from reactor.ui.event_buffer import KEPT, text_of
from reactor.ui.live_page import LivePage
from reactor.ui.request_guard import RequestGuard

_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_USUAL_EVENTS = 200


def application(page: LivePage, warn: Callable[[str], None]) -> RequestGuard:
    """The ASGI application for one page. ``warn`` is called for a bug in a request."""
    endpoints = Endpoints(page)
    routes = [
        Route("/", endpoints.index),
        Route("/page/{name}", endpoints.file),
        Route("/graph", endpoints.graph),
        Route("/stream", SseStream(page), methods=["GET"]),
        Route("/resource", endpoints.resource),
        Route("/events", endpoints.events),
        Route("/pause", endpoints.pause, methods=["POST"]),
        Route("/resume", endpoints.resume, methods=["POST"]),
    ]
    handlers = {
        **failure_handlers(_error, "the live page", "docs/live-page.md", warn),
        NoPausesError: _no_pauses,
        DrawingError: _busy,
    }
    served = Starlette(routes=routes, exception_handlers=handlers)
    return RequestGuard(served, page.access)


class Endpoints:
    """The answers of the routes."""

    def __init__(self, page: LivePage) -> None:
        self._page = page
        folder = files("reactor.ui") / "page"
        self._files = {each.name: each.read_bytes for each in folder.iterdir() if _media_type(each.name)}
        self._files["colours.css"] = lambda: css_variables().encode()

    async def index(self, _request: Request) -> Response:
        """The page itself."""
        return self._file("index.html")

    async def file(self, request: Request) -> Response:
        """A file that the page loads."""
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        if name not in self._files:
            raise HTTPException(404)
        return Response(self._files[name](), media_type=_media_type(name))

    async def graph(self, request: Request) -> Response:
        """The layout of the graph, and the status of every resource."""
        page, asked = self._page, request.query_params
        opened = frozenset(asked.getlist("open")) if "folded" in asked else None
        edition, picture = await page.drawing.picture(page.engine, opened)
        resource_status = await page.resource_statuses.now()
        text = (
            f'{{"edition":{edition},"run":{page.page_stream.run_text()},"status":{resource_status},{picture}'
        )
        return _answer(text)

    async def resource(self, request: Request) -> Response:
        """One resource."""
        if (name := request.query_params.get("ref")) is None:
            refuse("'ref' is missing", "name a resource as kind#name, with # written as %23")
        return _json(await details(self._page, name))

    async def events(self, request: Request) -> Response:
        """The last events, also of earlier runs."""
        page, most = self._page, _limit(request)
        latest, texts, time_slice = page.event_buffer.latest()[-most:], [], TimeSlice()
        if page.past is not None and len(latest) < most:
            older = await page.past.before(page.run_handle.status_table.facts.started, most - len(latest))
            texts = [json.dumps(redacted(record), separators=(",", ":")) for record in older]
        for numbered in latest:
            await time_slice.step()
            texts.append(text_of(numbered))
        return _answer(f'{{"events":[{",".join(texts)}]}}')

    async def pause(self, request: Request) -> Response:
        """Pause the resources that match any of the globs."""
        body = await body_of(request, {"refs", "for", "reason"})
        globs, seconds, reason = _globs(body), _seconds(body), reason_of(body)
        return _json({"paused": self._page.run_handle.pause(globs, seconds, reason)})

    async def resume(self, request: Request) -> Response:
        """End the pauses of the resources that match any of the globs."""
        globs = _globs(await body_of(request, {"refs"}))
        return _json({"resumed": self._page.run_handle.resume(globs)})


def _json(value: Any, status: int = 200) -> Response:
    """A JSON response with secrets redacted. It is ASCII: commands may write characters that can't be encoded."""
    return _answer(json.dumps(redacted(value), separators=(",", ":")), status)


def _answer(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


def _media_type(name: str) -> str | None:
    return _MEDIA_TYPES.get(PurePath(name).suffix)


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(_USUAL_EVENTS))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= KEPT):
        refuse(f"limit={text} is not a number of events", f"from 1 to {KEPT}")
    return int(text)


def _globs(body: dict[str, Any]) -> list[str]:
    globs = body.get("refs")
    if not isinstance(globs, list) or not all(isinstance(glob, str) and glob for glob in globs):
        refuse("'refs' must be a list of strings", "write each as kind#name, * matches anything; [] for all")
    return [*dict.fromkeys(globs)] or ["*"]


def _seconds(body: dict[str, Any]) -> float:
    try:
        seconds = parse_duration(body.get("for", ""))
    except ValueError as error:
        raise BadRequestError(f"'for': {error}", "write 30s, 10m or 2h") from error
    if not is_valid_duration(seconds):
        refuse("'for' must be a duration", "above 0 and at most a year")
    return seconds


# ---- errors ----


def _error(status: int, message: str, hint: str | None, code: str | None) -> Response:
    return _json({"error": message, "hint": hint, "code": code}, status)


async def _no_pauses(_request: Request, error: NoPausesError) -> Response:
    return _error(
        409,
        str(error),
        "a run with --noop or --monitor-only has no state directory to keep pauses in",
        error.code,
    )


async def _busy(_request: Request, error: DrawingError) -> Response:
    return _error(503, str(error), "reactor status shows the same in a terminal", error.code)


_DIGITS = 20
"""The most digits of a number that is parsed. No event has such a long number."""


class SseStream:
    """The stream of the page, as an ASGI application. It ends with the run, or if the client leaves or is too slow."""

    def __init__(self, page: LivePage) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        place = place_of(scope)
        with self._page.page_stream.listening(place.leave, _last_event_id(scope)) as listener:
            place.stay()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_at_disconnect, receive, nursery.cancel_scope)
                headers = [(b"content-type", b"text/event-stream")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                while texts := await listener.take():
                    body = "".join(texts).encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
                nursery.cancel_scope.cancel()


def _last_event_id(scope: Scope) -> int:
    """The number of the last event that the client received before it lost the connection; 0 for none."""
    since = QueryParams(scope["query_string"]).get("since") or Headers(scope=scope).get("last-event-id", "")
    return int(since) if since.isascii() and since.isdecimal() and len(since) <= _DIGITS else 0
