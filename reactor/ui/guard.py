"""Who may ask the page for what: the checks that come before every answer, and the headers that go with it.

The page speaks for the user who runs the converger, so no other web page may speak to it: neither by a name that
suddenly means this host (the ``Host`` of a request must be one of ours), nor from another origin (a POST must come from
our own page, and be JSON, which no form can send).
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import NoReturn
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
"""On every answer."""

_READING = ("GET", "HEAD")


class AnsweredError(Exception):
    """The request goes no further: ``response`` is the answer."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Guard:
    """Stands before ``application`` and lets those in who have ``access``.

    Where that asks for no token, the page is for this host only, and requests must be addressed to this host.
    """

    def __init__(self, application: ASGIApp, access: Access) -> None:
        self.application = application
        self._access = access
        self._cookie = f"reactor-{access.address.port}"  # browsers keep one jar for all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have it answered."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] != "http":  # a web socket: there is none, and the application says so
            await self.application(scope, receive, send)
            return
        answer = self.application
        try:
            self._examine(HTTPConnection(scope), scope["method"])
        except AnsweredError as answered:
            answer = answered.response
        await answer(scope, receive, send_with_headers)

    def _examine(self, request: HTTPConnection, method: str) -> None:
        """Raises AnsweredError."""
        if self._access.token is None:
            _demand_loopback_name(request.headers)
        else:
            self._demand_token(request, self._access.token)
        if method not in _READING:
            _demand_own_origin(request.headers)

    def _demand_token(self, request: HTTPConnection, token: str) -> None:
        offered = request.query_params.get("token")
        if request.url.path == "/" and offered is not None and _equal(offered, token):
            welcome = RedirectResponse("/", 303)
            welcome.set_cookie(self._cookie, token, httponly=True, samesite="strict")
            raise AnsweredError(welcome)
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(bearer.strip(), token):
            return
        if not _equal(request.cookies.get(self._cookie, ""), token):
            text = f"This page needs its token: open /?token=TOKEN once; the token is {self._access.token_place}.\n"
            raise AnsweredError(PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"}))


def _demand_loopback_name(headers: Headers) -> None:
    """Any port will do, for ``ssh -L`` may have another; a name that others own will not, for it may lead elsewhere."""
    try:
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        known = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        known = False
    if not known:
        _refuse(421, "this page answers to names of this host only", "open it as localhost or 127.0.0.1")


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
    raise AnsweredError(JSONResponse({"error": message, "hint": hint}, status))


def _equal(offered: str, token: str) -> bool:
    return hmac.compare_digest(offered.encode(errors="surrogateescape"), token.encode())
