"""The connection to a server. It counts all bytes before it parses any of them."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterable

import httpcore
import trio

from reactor.http.request import ConnectionLostError, HttpError, innermost

_turn: trio.lowlevel.RunVar[trio.Lock] = trio.lowlevel.RunVar("turn")


async def my_turn() -> None:
    """Wait for a turn to parse for a few milliseconds. Only one request gets a turn per cycle of the event loop."""
    try:
        lock = _turn.get()
    except LookupError:
        _turn.set(lock := trio.Lock())
    async with lock:
        await trio.lowlevel.checkpoint()


# ruff: noqa: ASYNC109 - httpcore passes a timeout to each method


_READ_HEAD = 4 * 1024
_READ_BODY = 16 * 1024
"""The bytes of one read. Parsing them takes a few milliseconds; the event loop runs after each read."""
_MOST_HEAD = 64 * 1024
"""The most bytes before the body: header fields and interim responses."""
_MOST_STATUS_LINES = 20
"""The most status lines before the body: each interim response has one, and 64 KiB would hold thousands of them."""
_MOST_AROUND = 2 * _READ_BODY
"""The most bytes, beyond the size of the content, that a body may add, such as chunk lengths and trailers."""


class Meter:
    """Counts the bytes of one response."""

    def __init__(self) -> None:
        self._head = 0
        self._status_lines = 0
        self._body = 0
        self._content = 0
        self._body_at_content = 0
        """The received bytes of the body when content was last delivered."""
        self._has_head = False
        self._is_closed = False

    @property
    def room(self) -> int:
        """The most bytes that the next read may return. Raises HttpError after `close`."""
        if self._is_closed:
            raise HttpError("the answer is not read any further")
        return _READ_BODY if self._has_head else _READ_HEAD

    def came(self, data: bytes) -> None:
        """Count the received bytes ``data``. Raises HttpError if too few of them are content."""
        if not self._has_head:
            self._came_before_body(data)
            return
        self._body += len(data)
        if max(self._body - self._body_at_content, self._body - 2 * self._content) > _MOST_AROUND:
            raise HttpError("the answer holds more bytes around its content than content")

    def _came_before_body(self, data: bytes) -> None:
        self._head += len(data)
        self._status_lines += data.count(b"HTTP/1.")
        if self._head > _MOST_HEAD:
            raise HttpError(f"the header of the answer is larger than {_MOST_HEAD // 1024} KiB")
        if self._status_lines > _MOST_STATUS_LINES:
            raise HttpError(f"the server sends more than {_MOST_STATUS_LINES} answers to one request")

    def begin_body(self) -> None:
        """Note that the body begins now."""
        self._has_head = True

    def delivered(self, size: int) -> None:
        """Count ``size`` bytes of content that were delivered to the caller."""
        self._content += size
        self._body_at_content = self._body

    def close(self) -> None:
        """Refuse all further reads."""
        self._is_closed = True


class Wire(httpcore.AsyncNetworkBackend):
    """Makes connections for one response. ``meter`` counts their bytes."""

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
        """Connect for httpcore. Raises ConnectionLostError that names the host if that can't be resolved or reached."""
        try:
            stream = await self._trio.connect_tcp(host, port, timeout, local_address, socket_options)
        except httpcore.ConnectError as error:
            cause = innermost(error)
            if isinstance(cause, socket.gaierror):
                raise ConnectionLostError(f"the name {host} can't be resolved: {cause.strerror}") from error
            if isinstance(cause, OSError) and cause.errno is not None:
                words = f"can't connect to {host}:{port}: {os.strerror(cause.errno)}"
                raise ConnectionLostError(words) from error
            raise
        return _Stream(stream, self._meter)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that is read in small chunks. Each chunk is counted."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes. Raises HttpError if there are too many, and after `Meter.close`."""
        data = await self._stream.read(min(max_bytes, self._meter.room), timeout)
        self._meter.came(data)
        await my_turn()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write ``buffer`` (an httpcore interface)."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection (an httpcore interface)."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Start TLS. The decrypted bytes are counted."""
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._meter)

    def get_extra_info(self, info: str) -> object:
        """Return ``info`` about the connection (an httpcore interface)."""
        return self._stream.get_extra_info(info)
