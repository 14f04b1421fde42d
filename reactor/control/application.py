"""The routes of the control socket: JSON in and out, errors included. `docs/control.md` describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from reactor.control.connection import place_of
from reactor.control.full_checks import LARGEST_REQUEST, REQUEST_FORM, PartQueue
from reactor.control.metrics import METRICS, metrics_response
from reactor.control.pause_file import is_valid_duration
from reactor.control.protocol import RefusedError, StatusQuery
from reactor.control.requests import (
    body_of,
    cancel_at_disconnect,
    failure_handlers,
    reason_of,
    refuse,
    require_form,
)
from reactor.control.run_handle import RunHandle

PREFIX = "/v1"


def application(run_handle: RunHandle, warn: Callable[[str], None]) -> Starlette:
    """The ASGI application for one run. ``warn`` is called for a bug in a request."""
    endpoints = Endpoints(run_handle)
    routes = [
        Route(f"{PREFIX}/health", endpoints.health),
        Route(f"{PREFIX}/status", endpoints.status),
        Route(f"{PREFIX}/resources/{{ref:path}}", endpoints.resource),
        Route(f"{PREFIX}/pause", endpoints.pause, methods=["POST"]),
        Route(f"{PREFIX}/resume", endpoints.resume, methods=["POST"]),
        Route(f"{PREFIX}/page", endpoints.page),
        Route(f"{PREFIX}/events", EventStream(run_handle), methods=["GET"]),
        Route(f"{PREFIX}/converge", FullCheckStream(run_handle), methods=["POST"]),
        Route(METRICS, endpoints.metrics),
    ]
    handlers = failure_handlers(_error, "the control socket", f"docs/control.md, below {PREFIX}", warn)
    handlers[NoPageError] = _no_page
    return Starlette(routes=routes, exception_handlers=handlers)


class NoPageError(Exception):
    """The run has no live page."""


class Endpoints:
    """The answers of the routes."""

    def __init__(self, run_handle: RunHandle) -> None:
        self._run_handle = run_handle

    async def health(self, _request: Request) -> Response:
        """Liveness probe: always 200."""
        return JSONResponse({"status": "ok", "pid": self._run_handle.status_table.facts.pid})

    async def status(self, request: Request) -> Response:
        """The run, the counts, the watchers, and the resources that match the query."""
        query = dict(request.query_params)
        question = StatusQuery(query.pop("match", None), _flag(query, "all"), _flag(query, "failed"))
        if query:
            refuse(f"there is no parameter {next(iter(query))!r}", "the parameters are match, all and failed")
        return Response(await self._run_handle.status(question), media_type="application/json")

    async def page(self, _request: Request) -> Response:
        """The address of the live page."""
        if (url := self._run_handle.page_url) is None:
            raise NoPageError
        return JSONResponse({"url": url})

    async def metrics(self, request: Request) -> Response:
        """The metrics of the run, for Prometheus."""
        return await metrics_response(request, self._run_handle.tally, self._run_handle.engine)

    async def resource(self, request: Request) -> Response:
        """One resource."""
        return JSONResponse(self._run_handle.resource(request.path_params["ref"]))

    async def pause(self, request: Request) -> Response:
        """Pause the resources that match, for some seconds."""
        body = await body_of(request, {"match", "for", "reason"})
        seconds = body.get("for")
        if (
            not isinstance(seconds, int | float)
            or isinstance(seconds, bool)
            or not is_valid_duration(seconds)
        ):
            refuse("'for' must be a number of seconds", "above 0 and at most a year")
        paused = self._run_handle.pause([_match(body)], float(seconds), reason_of(body))
        return JSONResponse({"paused": paused})

    async def resume(self, request: Request) -> Response:
        """End the pauses of the resources that match."""
        body = await body_of(request, {"match"})
        return JSONResponse({"resumed": self._run_handle.resume([_match(body)])})


class EventStream:
    """The live stream as server-sent events: one ``data:`` line of JSON for each event. An ASGI application."""

    def __init__(self, run_handle: RunHandle) -> None:
        self._broadcast = run_handle.broadcast

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the run ends, the client disconnects, or the client is dropped because it is too slow."""
        place = place_of(scope)
        listener = self._broadcast.join(place.leave)
        place.stay()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_at_disconnect, receive, nursery.cancel_scope)
                headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await _send_part(send, ": events from now on\n\n")
                while lines := await listener.take():
                    await _send_part(send, "".join(f"data: {line}\n" for line in lines))
                await send({"type": "http.response.body", "body": b""})
                nursery.cancel_scope.cancel()
        finally:
            self._broadcast.leave(listener)


class FullCheckStream:
    """A full check by the active run, as one JSON object on each line. An ASGI application."""

    def __init__(self, run_handle: RunHandle) -> None:
        self._run_handle = run_handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream what a one-shot run would show. A client that leaves, or reads too slowly, does not delay the run."""
        if (answering := self._run_handle.answering) is None:
            refuse("this run makes no full checks", "it was not started with 'reactor run'")
        request = await body_of(Request(scope, receive), REQUEST_FORM.keys(), LARGEST_REQUEST, has_bytes=True)
        require_form(request, REQUEST_FORM)
        place = place_of(scope)
        place.stay()
        parts = PartQueue(place.leave)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cancel_at_disconnect, receive, nursery.cancel_scope)
            nursery.start_soon(answering.answer, request, parts)
            headers = [(b"content-type", b"application/jsonl"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for text in parts:
                await _send_part(send, text)
            await send({"type": "http.response.body", "body": b""})
            nursery.cancel_scope.cancel()


async def _send_part(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


# ---- parameters of requests ----


def _flag(query: dict[str, str], name: str) -> bool:
    value = query.pop(name, "false")
    if value not in ("true", "false"):
        refuse(f"{name}={value} must be true or false", f"write {name}=true")
    return value == "true"


def _match(body: dict[str, Any]) -> str:
    match = body.get("match", "*")
    if not isinstance(match, str) or not match:
        refuse("'match' must be a string", "write it as kind#name; * matches anything")
    return str(match)


# ---- errors ----


def _error(status: int, message: str, hint: str | None, code: str | None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message, "hint": hint}}, status)


async def _no_page(_request: Request, _failure: NoPageError) -> Response:
    return _error(404, "this run has no live page", "start it with --ui 127.0.0.1:8470", RefusedError.code)
