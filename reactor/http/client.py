"""Sends a request and follows redirects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import trio

from reactor.http.request import HttpError, HttpLimits, HttpRequest
from reactor.http.url import parse_url, redirected
from reactor.resource.threads import in_thread

if TYPE_CHECKING:
    from reactor.http.response import HttpResponse

_REDIRECTS = {301, 302, 303, 307, 308}
_KEEP_METHOD = {307, 308}


@asynccontextmanager
async def http_response(request: HttpRequest, limits: HttpLimits) -> AsyncIterator[HttpResponse]:
    """Yield the response to ``request`` after all redirects; read its body in the block.

    Raises HttpError when there is no response within ``limits``, also at the end of the block. Raises OSError when a
    TLS context or a thread can't be made.
    """
    with trio.move_on_after(limits.seconds) as limit:
        await in_thread(import_module, "reactor.http.response")
        from reactor.http.response import response_of  # noqa: PLC0415 - fast: a thread has imported it before

        first = url = parse_url(request.url)
        request = replace(request, credentials=request.credentials or first.credentials)
        for _ in range(limits.redirects + 1):
            sent = request if first.trusts(url) else replace(request, fields=(), credentials=None)
            async with response_of(url, sent, limits, limit) as answer:
                location = answer.field("location")
                if answer.status not in _REDIRECTS or not location or not limits.redirects:
                    yield answer
                    return
            url = redirected(url, location, may_leave_tls=request.may_leave_tls)
            request = _after(answer.status, request)
        raise HttpError(f"the server redirects more than {limits.redirects} times")
    if limit.cancelled_caught:
        paced = "" if limits.pace is None else f", and a second more for each {limits.pace:,} bytes"
        raise HttpError(f"it took more than {limits.seconds:g} s{paced}")


def _after(status: int, request: HttpRequest) -> HttpRequest:
    """Return the request after a redirect.

    Its content is sent again only if ``status`` demands it (RFC 9110, 15.4).
    """
    if status in _KEEP_METHOD or request.method in ("GET", "HEAD"):
        return request
    return replace(request, method="GET", content=None)
