"""Parses the bodies of HTTP requests to the control socket and the live page, and answers bad requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive
from trio import CancelScope

from reactor.control.broadcast import TooManyReadersError
from reactor.control.names import UnknownNameError
from reactor.control.protocol import RefusedError
from reactor.errors import ReactorError

_LARGEST_BODY = 65536


class BadRequestError(ReactorError):
    """The request is invalid."""

    code = "R0606"


async def cancel_at_disconnect(receive: Receive, scope: CancelScope) -> None:
    """Cancel ``scope`` as soon as the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def refuse(message: str, hint: str) -> NoReturn:
    """Raise BadRequestError."""
    raise BadRequestError(message, hint)


async def body_of(
    request: Request, known: AbstractSet[str], largest: int = _LARGEST_BODY, *, has_bytes: bool = False
) -> dict[str, Any]:
    """The JSON object in the body. It may have only ``known`` keys. Raises BadRequestError and HTTPException.

    With ``has_bytes``, texts may have bytes that are not UTF-8, as Python reads those of names and variables.
    """
    text = b""
    async with aclosing(request.stream()) as chunks:
        async for chunk in chunks:
            text += chunk
            if len(text) > largest:
                raise HTTPException(413, f"the body is longer than {largest} bytes")
    try:
        body = json.loads(text)
        errors = "surrogateescape" if has_bytes else "strict"
        json.dumps(body, ensure_ascii=False).encode(errors=errors)  # half a surrogate pair is not valid text
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is not JSON: {error}", "send a JSON object") from error
    if not isinstance(body, dict):
        refuse("the body is not a JSON object", f"its keys are {', '.join(sorted(known))}")
    if unknown := body.keys() - known:
        refuse(f"the body has the unknown key {min(unknown)!r}", f"its keys are {', '.join(sorted(known))}")
    return body


def require_form(value: Any, form: Any, name: str = "the body") -> None:
    """Raise BadRequestError unless ``value`` has the ``form``.

    A form is a type, the forms of the keys of an object, a list with the form of each item, or the types of all items.
    """
    if not _has_form(value, form):
        refuse(
            f"{name} is missing or invalid", "the version of the client and that of the run must be the same"
        )
    if isinstance(form, dict):
        for key, part in form.items():
            require_form(value.get(key), part, repr(key))


def _has_form(value: Any, form: Any) -> bool:
    match form:
        case dict():
            return isinstance(value, dict)
        case [each]:
            return isinstance(value, list) and all(_has_form(item, each) for item in value)
        case tuple():
            return isinstance(value, list) and [*map(type, value)] == [*form]
    return isinstance(value, form)


def reason_of(body: dict[str, Any]) -> str:
    """The reason of a pause. Raises BadRequestError."""
    reason = body.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        refuse("'reason' must be a string, and not empty", "say why it is paused")
    return str(reason)


Answer = Callable[[int, str, str | None, str | None], Response]
"""Makes a response from a status, a message, a hint and an error code; the code is None for a bug."""


def failure_handlers(answer: Answer, what: str, routes: str, warn: Callable[[str], None]) -> dict[Any, Any]:
    """The exception handlers of Starlette for requests to ``what``; ``routes`` says where its routes are described.

    ``warn`` is called for a bug.
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
        refusal = RefusedError.from_os_error(error)
        return answer(500, refusal.message, refusal.hint, refusal.code)

    async def gone(_request: Request, _error: ClientDisconnect) -> Response:
        # The client is gone and will not read this.
        return answer(400, "the request is incomplete", None, None)

    async def crowded(_request: Request, error: TooManyReadersError) -> Response:
        return answer(503, error.message, "close one of them, or use reactor status", error.code)

    async def failed(_request: Request, error: Exception) -> Response:
        warn(f"a request to {what} failed: {type(error).__name__}: {error}")
        hint = "this is a bug in reactor; please report it"
        return answer(500, "the request failed unexpectedly", hint, None)

    return {
        HTTPException: refused, UnknownNameError: unknown, BadRequestError: bad, OSError: system,
        ClientDisconnect: gone, TooManyReadersError: crowded, Exception: failed,
    }  # fmt: skip
