"""The checks before every answer of the page, and the security headers of the answers.

The page acts for the user who runs reactor, so other web pages must not use it. Against DNS rebinding, the ``Host`` of a
request must be one of this host's names. Against cross-site requests, a POST must come from our own origin and be JSON,
which no form can send. Every request needs the token, because every user of this host can connect to a local port.
"""

from __future__ import annotations

import hmac
from typing import NoReturn

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reactor.control.connection import place_of
from reactor.control.listen_address import names_loopback
from reactor.ui.access import Access

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of every answer."""

_READING = ("GET", "HEAD")
_LOCKED = "This page needs its token: open the address that '{}' shows.\n"


class AnsweredError(Exception):
    """The request is answered with ``response``, and is not passed to the application."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class RequestGuard:
    """Passes requests with the token in ``access`` to ``application``, and answers all others.

    Programs send the token with each request. A browser sends it once, in the URL, and gets a cookie, which is valid only
    below the path `Access.home`.
    """

    def __init__(self, application: ASGIApp, access: Access) -> None:
        self.application = application
        self._access = access
        self._home = access.home
        self._cookie = f"reactor-{access.address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self.application
        try:
            scope = self._checked_service(scope)
        except AnsweredError as answered:
            answer = answered.response
        await answer(scope, receive, send_with_headers)

    def _checked_service(self, scope: Scope) -> Scope:
        """The request as the application gets it. Raises AnsweredError for a request that is not passed on."""
        request = HTTPConnection(scope)
        if self._access.address.is_loopback and not names_loopback(request.headers.get("host", "")):
            _refuse(
                421, "this page is served for names of this host only", "open it as localhost or 127.0.0.1"
            )
        if is_at_home := scope["path"].startswith(f"{self._home}/"):
            is_known = self._is_token(request.cookies.get(self._cookie, ""))
        else:
            is_known = self._is_token(_bearer(request.headers)) or self._has_token_in_url(
                request, scope["path"]
            )
        if not is_known:
            raise AnsweredError(
                PlainTextResponse(_LOCKED.format(self._access.shown_by), 401, {"WWW-Authenticate": "Bearer"})
            )
        place_of(scope).admitted = True
        if scope["method"] not in _READING:
            _demand_own_origin(request.headers)
        return {**scope, "path": scope["path"].removeprefix(self._home)} if is_at_home else scope

    def _has_token_in_url(self, request: HTTPConnection, path: str) -> bool:
        """If the URL has the token, raise AnsweredError, which redirects and sets the cookie; else return False."""
        offered = request.query_params.get("token")
        if path != "/" or offered is None or not self._is_token(offered):
            return False
        redirect = RedirectResponse(f"{self._home}/", 303)
        redirect.set_cookie(
            self._cookie, self._access.token, path=f"{self._home}/", httponly=True, samesite="strict"
        )
        raise AnsweredError(redirect)

    def _is_token(self, offered: str) -> bool:
        return hmac.compare_digest(offered.encode(errors="surrogateescape"), self._access.token.encode())


def _bearer(headers: Headers) -> str:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else ""


def _demand_own_origin(headers: Headers) -> None:
    host = headers.get("host", "")
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    same = site == "same-origin" if origin is None else origin in (f"http://{host}", f"https://{host}")
    if not same or site not in (None, "same-origin"):
        _refuse(
            403,
            "only the page itself may ask for this",
            "send its address as Origin, as in http://127.0.0.1:8470",
        )
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        _refuse(415, "this takes JSON", "send Content-Type: application/json")


def _refuse(status: int, message: str, hint: str) -> NoReturn:
    raise AnsweredError(JSONResponse({"error": message, "hint": hint, "code": "R0606"}, status))
