"""What requests to a run say, and what is wrong with them."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import Request

from reactor.errors import ReactorError

_LARGEST_BODY = 65536


class BadRequestError(ReactorError):
    """The request says something we can't do."""

    code = "R0606"


def refuse(message: str, hint: str) -> NoReturn:
    """Raises BadRequestError."""
    raise BadRequestError(message, hint)


async def body_of(request: Request, known: set[str]) -> dict[str, Any]:
    """The JSON object in the body, with nothing in it that is not `known`. Raises BadRequestError and HTTPException."""
    text = b""
    async with aclosing(request.stream()) as chunks:
        async for chunk in chunks:
            text += chunk
            if len(text) > _LARGEST_BODY:
                raise HTTPException(413, f"the body is longer than {_LARGEST_BODY} bytes")
    try:
        body = json.loads(text)
        json.dumps(body, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is not JSON: {error}", "send a JSON object") from error
    if not isinstance(body, dict):
        refuse("the body is not a JSON object", f"it may hold {', '.join(sorted(known))}")
    if unknown := body.keys() - known:
        refuse(f"there is no {min(unknown)!r} in it", f"it may hold {', '.join(sorted(known))}")
    return body


def reason_of(body: dict[str, Any]) -> str:
    """Why something is paused. Raises BadRequestError."""
    reason = body.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        refuse("'reason' must be a text", "say why, for those who wonder later")
    return str(reason)
