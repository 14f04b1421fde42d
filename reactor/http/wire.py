"""The connection to a server, which counts the bytes that come before any of them is parsed."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable

import httpcore
import trio

from reactor.http.request import ConnectionLostError, HttpError, innermost

_turn: trio.lowlevel.RunVar[trio.Lock] = trio.lowlevel.RunVar("turn")


async def my_turn() -> None:
    """Wait for a turn to parse for a few milliseconds. Of all requests, one has a turn per cycle of the event loop."""
    try:
        lock = _turn.get()
    except LookupError:
        _turn.set(lock := trio.Lock())
    async with lock:
        await trio.lowlevel.checkpoint()


# ruff: noqa: ASYNC109 - httpcore has a timeout at each step


_READ_HEAD = 4 * 1024
_READ_BODY = 16 * 1024
"""Bytes of one read. They are parsed in a few milliseconds, and the event loop runs after each."""
_MOST_HEAD = 64 * 1024
"""The most bytes before the body, header fields and interim responses: 30 ms of parsing at most."""
_MOST_AROUND = 2 * _READ_BODY
"""The most bytes around the content of a body, such as chunk lengths and trailers, in addition to its own size."""


class Meter:
    """Counts the bytes of one response."""

    def __init__(self) -> None:
        self._head = 0
        self._body = 0
        self._content = 0
        self._body_at_content = 0
        """The bytes of the body when content was last delivered."""
        self._has_head = False
        self._is_closed = False

    @property
    def room(self) -> int:
        """The most bytes of the next read. Raises HttpError after `close`."""
        if self._is_closed:
            raise HttpError("the answer is not read any further")
        return _READ_BODY if self._has_head else _READ_HEAD

    def came(self, size: int) -> None:
        """Count ``size`` received bytes. Raises HttpError when too few of them are content."""
        if not self._has_head:
            self._head += size
            if self._head > _MOST_HEAD:
                raise HttpError(f"the header of the answer is larger than {_MOST_HEAD // 1024} KiB")
            return
        self._body += size
        if max(self._body - self._body_at_content, self._body - 2 * self._content) > _MOST_AROUND:
            raise HttpError("the answer holds more bytes around its content than content")

    def begin_body(self) -> None:
        """Note that the body begins."""
        self._has_head = True

    def delivered(self, size: int) -> None:
        """Count ``size`` bytes of content that were delivered."""
        self._content += size
        self._body_at_content = self._body

    def close(self) -> None:
        """Refuse all further reads."""
        self._is_closed = True


class Wire(httpcore.AsyncNetworkBackend):
    """Makes connections for one response, which ``meter`` counts."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._trio = httpcore.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect for httpcore. Raises ConnectionLostError, which names the host, for a name that can't be resolved."""
        try:
            stream = await self._trio.connect_tcp(host, port, timeout, local_address, socket_options)
        except httpcore.ConnectError as error:
            if (cause := innermost(error)) is error or not isinstance(cause, socket.gaierror):
                raise
            words = f"the name {host} can't be resolved: {cause.strerror}"
            raise ConnectionLostError(words) from error
        return _Stream(stream, self._meter)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that is read in small chunks, each counted."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read the next bytes. Raises HttpError when there are too many, or after `Meter.close`."""
        data = await self._stream.read(min(max_bytes, self._meter.room), timeout)
        self._meter.came(len(data))
        await my_turn()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """As httpcore asks for it."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """As httpcore asks for it."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Start TLS. The bytes of the plain text are counted."""
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._meter)

    def get_extra_info(self, info: str) -> object:
        """As httpcore asks for it."""
        return self._stream.get_extra_info(info)
