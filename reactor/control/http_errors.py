"""Requests that fail, on the control socket and on the live page: the same words, each in its own form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from reactor.control.broadcast import CrowdedError
from reactor.control.names import UnknownNameError
from reactor.control.refused_request import RefusedError
from reactor.control.requests import BadRequestError

Answer = Callable[[int, str, str | None, str | None], Response]
"""Makes the response of a status, what is wrong, how to mend it, and the code of that; None for a bug of ours."""


def failure_handlers(answer: Answer, what: str, routes: str, tell: Callable[[str], None]) -> dict[Any, Any]:
    """Starlette's handlers of what may go wrong in requests to ``what``, whose ``routes`` are described there.

    ``tell`` hears of our own bugs, as the client does.
    """

    async def refused(_request: Request, error: HTTPException) -> Response:
        hint = f"the routes are described in {routes}"
        response = answer(error.status_code, error.detail, hint, BadRequestError.code)
        response.headers.update(error.headers or {})
        return response

    async def unknown(_request: Request, error: UnknownNameError) -> Response:
        return answer(404, error.message, error.hint, error.code)

    async def bad(_request: Request, error: BadRequestError) -> Response:
        return answer(400, error.message, error.hint, error.code)

    async def system(_request: Request, error: OSError) -> Response:
        refusal = RefusedError.by_system(error)
        return answer(500, refusal.message, refusal.hint, refusal.code)

    async def gone(_request: Request, _error: ClientDisconnect) -> Response:
        return answer(400, "the request was not sent to its end", None, None)  # nobody is there to hear it

    async def crowded(_request: Request, error: CrowdedError) -> Response:
        return answer(503, error.message, "end one of them, or ask reactor status", error.code)

    async def failed(_request: Request, error: Exception) -> Response:
        tell(f"a request to {what} failed: {type(error).__name__}: {error}")
        hint = "this is a bug in reactor; please report it"
        return answer(500, "the request failed unexpectedly", hint, None)

    return {
        HTTPException: refused, UnknownNameError: unknown, BadRequestError: bad, OSError: system,
        ClientDisconnect: gone, CrowdedError: crowded, Exception: failed,
    }  # fmt: skip
