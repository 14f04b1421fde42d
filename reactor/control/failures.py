"""Requests that fail, on the control socket and on the live page: the same words, each in its own form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from reactor.control.broadcast import CrowdedError
from reactor.control.names import UnknownNameError
from reactor.control.refusal import RefusedError
from reactor.control.requests import BadRequestError

Answer = Callable[[int, str, str | None], Response]
"""Makes the response of a status, what is wrong, and how to mend it."""


def failure_handlers(answer: Answer, what: str, routes: str, tell: Callable[[str], None]) -> dict[Any, Any]:
    """Starlette's handlers of what may go wrong in requests to ``what``, whose ``routes`` are described there.

    ``tell`` hears of our own bugs, as the client does.
    """

    async def refused(_request: Request, error: HTTPException) -> Response:
        response = answer(error.status_code, error.detail, f"the routes are described in {routes}")
        response.headers.update(error.headers or {})
        return response

    async def unknown(_request: Request, error: UnknownNameError) -> Response:
        return answer(404, str(error), error.hint)

    async def bad(_request: Request, error: BadRequestError) -> Response:
        return answer(400, str(error), error.hint)

    async def system(_request: Request, error: OSError) -> Response:
        refusal = RefusedError.by_system(error)
        return answer(500, refusal.message, refusal.hint)

    async def gone(_request: Request, _error: ClientDisconnect) -> Response:
        return answer(400, "the request was not sent to its end", None)  # nobody is there to hear it

    async def crowded(_request: Request, error: CrowdedError) -> Response:
        return answer(503, str(error), "end one of them, or ask reactor status")

    async def failed(_request: Request, error: Exception) -> Response:
        tell(f"a request to {what} failed: {type(error).__name__}: {error}")
        return answer(500, "the request failed unexpectedly", "this is a bug in reactor; please report it")

    return {
        HTTPException: refused, UnknownNameError: unknown, BadRequestError: bad, OSError: system,
        ClientDisconnect: gone, CrowdedError: crowded, Exception: failed,
    }  # fmt: skip
