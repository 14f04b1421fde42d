"""One request and its response, with httpcore.

The import takes 50 ms, so only `reactor.http.client` does it, in a thread.
"""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from http import HTTPStatus

import httpcore
import trio

from reactor.http.request import (
    ConnectionLostError,
    HttpError,
    HttpLimits,
    HttpRequest,
    TooLargeError,
    reason,
)
from reactor.http.url import Url, environment_proxy, parse_url
from reactor.http.wire import Meter, Wire, my_turn
from reactor.resource.threads import in_thread

_SLICE = 0.002
"""Seconds of work on received chunks of a body before other tasks run."""
_SHOWN = 40
"""The most characters of a header field that an error shows."""

_ERRORS = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    ValueError,  # raised by the resolver and the TLS library for invalid host names
)


class HttpResponse:
    """The status, header fields (names in lower case) and body of a response."""

    def __init__(
        self, response: httpcore.Response, meter: Meter, limits: HttpLimits, limit: trio.CancelScope
    ) -> None:
        self.status = response.status
        self.fields = tuple((_text(name).lower(), _text(value)) for name, value in response.headers)
        self._response = response
        self._meter = meter
        self._limits = limits
        self._limit = limit

    def field(self, name: str) -> str:
        """Return the values of the header field ``name``, given in lower case; "" if it is missing."""
        return ", ".join(value for each, value in self.fields if each == name)

    async def read(self) -> bytes:
        """Return the whole body, which must not be encoded. Raises the errors of `refuse_encoding` and `pieces`."""
        self.refuse_encoding()
        body = bytearray()
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                body += piece
        return bytes(body)

    def refuse_encoding(self) -> None:
        """Raise HttpError if the body is encoded: a few encoded bytes could expand to any size."""
        encoding = self.field("content-encoding").strip().lower()
        if encoding not in ("", "identity"):
            raise HttpError(
                f"the answer has a Content-Encoding that was not asked for: {encoding[:_SHOWN]!r}"
            )

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body in chunks. Raises TooLargeError; HttpError when the connection breaks.

        Use `contextlib.aclosing` if you may stop before the end of the body.
        """
        size, slice_end = 0, time.perf_counter() + _SLICE
        stream = self._response.aiter_stream()
        try:
            with _explained(self._limits.silence):
                async for piece in stream:
                    size += len(piece)
                    self._meter.delivered(len(piece))
                    if size > self._limits.size:
                        raise TooLargeError(f"the answer is larger than {self._limits.size / 2**20:.3g} MiB")
                    if self._limits.pace is not None:
                        self._limit.deadline += len(piece) / self._limits.pace
                    yield piece
                    if time.perf_counter() > slice_end:
                        await my_turn()
                        slice_end = time.perf_counter() + _SLICE
        finally:
            self._meter.close()
            await _exhaust(stream)


async def _exhaust(stream: AsyncIterator[bytes]) -> None:
    """Run ``stream``, which is closed, to its end: trio warns about unfinished generators."""
    with suppress(HttpError, *_ERRORS):
        async for _ in stream:
            pass


@asynccontextmanager
async def response_of(
    url: Url, request: HttpRequest, limits: HttpLimits, limit: trio.CancelScope
) -> AsyncIterator[HttpResponse]:
    """Send ``request`` to ``url`` on its own connection; yield the response.

    Raises HttpError, and OSError of ``trust``.
    """
    meter = Meter()
    context = await in_thread(request.trust or ssl.create_default_context) if url.scheme == "https" else None
    steps = dict.fromkeys(("connect", "read", "write", "pool"), limits.silence)
    proxy = _proxy(url, request)
    async with AsyncExitStack() as open_:
        with _naming(proxy), _explained(limits.silence):
            pool = httpcore.AsyncConnectionPool(context, _way(proxy), network_backend=Wire(meter))
            await open_.enter_async_context(pool)
            stream = pool.stream(
                request.method.encode(),
                httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target),
                headers=_fields(url, request),
                content=request.content,
                extensions={"timeout": steps},
            )
            response = await open_.enter_async_context(stream)
            if proxy is not None and response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
                raise HttpError(f"{response.status} {HTTPStatus.PROXY_AUTHENTICATION_REQUIRED.phrase}")
        meter.begin_body()
        yield HttpResponse(response, meter, limits, limit)


def _fields(url: Url, request: HttpRequest) -> list[tuple[bytes, bytes]]:
    """Return all header fields of a request. Those of the user override ours."""
    usual = {
        "Host": url.authority,
        "User-Agent": "reactor",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    if request.credentials is not None:
        usual["Authorization"] = f"Basic {base64.b64encode(':'.join(request.credentials).encode()).decode()}"
    named = (*request.fields, *request.conditions)
    taken = {name.lower() for name, _ in named}
    fields = [(name, value) for name, value in usual.items() if name.lower() not in taken]
    return [(name.encode(), value.encode()) for name, value in (*fields, *named)]


def _proxy(url: Url, request: HttpRequest) -> Url | None:
    """Return the proxy for ``url``. Raises HttpError if it is invalid."""
    text = environment_proxy(url) if request.proxy is None else request.proxy
    if not text:
        return None
    try:
        return parse_url(text)
    except HttpError as error:
        raise HttpError(f"the proxy can't be used: {error}") from error


def _way(proxy: Url | None) -> httpcore.Proxy | None:
    if proxy is None:
        return None
    return httpcore.Proxy(
        httpcore.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port, target="/"), proxy.credentials
    )


@contextmanager
def _naming(proxy: Url | None) -> Iterator[None]:
    """Add the name of the proxy, without its credentials, to errors raised in the block."""
    try:
        yield
    except HttpError as error:
        if proxy is None:
            raise
        raise type(error)(f"through the proxy {proxy.authority}: {error}") from error


@contextmanager
def _explained(silence: float) -> Iterator[None]:
    """Convert errors of httpcore, the TLS library and the resolver, raised in the block, to HttpError."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise ConnectionLostError(f"the server has been silent for {silence:g} s") from error
    except (httpcore.NetworkError, httpcore.RemoteProtocolError) as error:
        raise ConnectionLostError(reason(error)) from error
    except _ERRORS as error:
        raise HttpError(reason(error)) from error


def _text(field: bytes) -> str:
    try:
        return field.decode()
    except UnicodeDecodeError:
        return field.decode("latin-1")
