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
    """Return when the caller may parse what a few milliseconds suffice for; whatever else is due has run before."""
    try:
        lock = _turn.get()
    except LookupError:
        _turn.set(lock := trio.Lock())
    async with lock:
        await trio.lowlevel.checkpoint()


# ruff: noqa: ASYNC109 - httpcore has a timeout at each step


_READ_HEAD = 4 * 1024
_READ_BODY = 16 * 1024
"""Bytes read in one go. The event loop has its turn after each: whatever they hold is parsed in a few milliseconds."""
_MOST_HEAD = 64 * 1024
"""Bytes before the body, header fields and interim answers: 30 ms of parsing at the worst."""
_MOST_AROUND = 2 * _READ_BODY
"""Bytes that may come around the content of a body, lengths of chunks and trailers, besides as many as it has itself."""


class Meter:
    """Counts the bytes of one answer."""

    def __init__(self) -> None:
        self._head = 0
        self._body = 0
        self._content = 0
        self._body_at_content = 0
        """How many bytes of the body there were when content was last handed on."""
        self._has_head = False
        self._is_closed = False

    @property
    def room(self) -> int:
        """How many bytes to read at once. Raises HttpError when nothing more is wanted."""
        if self._is_closed:
            raise HttpError("the answer is not read any further")
        return _READ_BODY if self._has_head else _READ_HEAD

    def came(self, size: int) -> None:
        """So many bytes have come. Raises HttpError when too few of them are content."""
        if not self._has_head:
            self._head += size
            if self._head > _MOST_HEAD:
                raise HttpError(f"the header of the answer is larger than {_MOST_HEAD // 1024} KiB")
            return
        self._body += size
        if max(self._body - self._body_at_content, self._body - 2 * self._content) > _MOST_AROUND:
            raise HttpError("the answer holds more bytes around its content than content")

    def begin_body(self) -> None:
        """What comes now is the body."""
        self._has_head = True

    def delivered(self, size: int) -> None:
        """So many bytes of content were handed on."""
        self._content += size
        self._body_at_content = self._body

    def close(self) -> None:
        """Let nothing come any more."""
        self._is_closed = True


class Wire(httpcore.AsyncNetworkBackend):
    """Makes connections for one answer, which ``meter`` counts."""

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
        """As httpcore asks for it. Raises ConnectionLostError, which names the host, for a name that nobody knows."""
        try:
            stream = await self._trio.connect_tcp(host, port, timeout, local_address, socket_options)
        except httpcore.ConnectError as error:
            if (cause := innermost(error)) is error or not isinstance(cause, socket.gaierror):
                raise
            words = f"the name {host} can't be resolved: {cause.strerror}"
            raise ConnectionLostError(words) from error
        return _Stream(stream, self._meter)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that is read in small pieces, each counted."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes. Raises HttpError when there are too many, or no more are wanted."""
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
        """The same inside of TLS: what is counted then is what was encrypted."""
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._meter)

    def get_extra_info(self, info: str) -> object:
        """As httpcore asks for it."""
        return self._stream.get_extra_info(info)
