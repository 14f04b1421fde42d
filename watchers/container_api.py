"""Requests to docker or podman: HTTP over their unix socket, one connection for each request."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import h11
import trio

_READ_SIZE = 65536
_LARGEST = 32 << 20
_FIRST_ERROR = 400
"""The lowest HTTP status that is an error."""


class ApiError(Exception):
    """The daemon can't be asked, or refused. ``status`` is the HTTP status of the answer; 0 if there was none."""

    def __init__(self, words: str, status: int = 0) -> None:
        super().__init__(words)
        self.status = status


class ApiAnswer:
    """An answer whose header has been read."""

    def __init__(self, stream: trio.SocketStream, connection: h11.Connection, status: int) -> None:
        self.status = status
        self._stream = stream
        self._connection = connection

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives. Raises ApiError when the connection breaks."""
        while True:
            event = await _next_event(self._stream, self._connection)
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise ApiError("the daemon closed the connection")

    async def lines(self) -> AsyncGenerator[dict[str, Any]]:
        """Yield the objects of JSON of a body that is a stream of lines. Raises ApiError."""
        rest = b""
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > _LARGEST:
                    raise ApiError("a line of the daemon is too large")
                for line in filter(None, (line.strip() for line in lines)):
                    yield _object_in(line)
        if rest.strip():
            yield _object_in(rest)

    async def document(self) -> Any:
        """The whole body as JSON; None if it is empty. Raises ApiError."""
        body = bytearray()
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > _LARGEST:
                    raise ApiError("the answer of the daemon is too large")
        try:
            return json.loads(body) if body.strip() else None
        except ValueError:
            return body.decode(errors="replace").strip()


@asynccontextmanager
async def answer_of(
    path: str,
    method: str,
    target: str,
    document: Any = None,
    fields: Mapping[str, str] | None = None,
) -> AsyncIterator[ApiAnswer]:
    """Send a request over the socket at ``path``; yield the answer. Raises ApiError, also for a refusal."""
    try:
        stream = await trio.open_unix_socket(path)
    except (OSError, ValueError) as error:
        raise ApiError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    async with stream:
        connection = h11.Connection(h11.CLIENT)
        body = b"" if document is None else json.dumps(document).encode()
        headers = {"Host": "localhost", "Content-Length": str(len(body)), **(fields or {})}
        headers |= {"Content-Type": "application/json"} if body else {}
        request = h11.Request(method=method, target=target, headers=list(headers.items()))
        await _send(stream, connection, request, body)
        header = await _next_event(stream, connection)
        if not isinstance(header, h11.Response):
            raise ApiError("the daemon sent no answer")
        answer = ApiAnswer(stream, connection, header.status_code)
        if header.status_code >= _FIRST_ERROR:
            raise ApiError(_reason(await answer.document(), header.status_code), header.status_code)
        yield answer


async def ask(
    path: str, method: str, target: str, document: Any = None, fields: Mapping[str, str] | None = None
) -> Any:
    """Send a request; return the body of the answer as JSON. Raises ApiError."""
    async with answer_of(path, method, target, document, fields) as answer:
        return await answer.document()


async def _send(
    stream: trio.SocketStream, connection: h11.Connection, request: h11.Request, body: bytes
) -> None:
    parts = (request, h11.Data(data=body), h11.EndOfMessage())
    data = b"".join(connection.send(part) or b"" for part in parts)
    try:
        await stream.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
        raise ApiError("the daemon closed the connection") from error


async def _next_event(stream: trio.SocketStream, connection: h11.Connection) -> Any:
    """The next event of the answer, without those that only inform."""
    while True:
        try:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(_READ_SIZE))
            elif not isinstance(event, h11.InformationalResponse):
                return event
        except (h11.RemoteProtocolError, trio.BrokenResourceError, OSError) as error:
            raise ApiError(f"the daemon broke the connection: {error}") from error


def _object_in(line: bytes) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {}


def _reason(document: Any, status: int) -> str:
    words = document.get("message") or document.get("cause") if isinstance(document, dict) else document
    return str(words or f"status {status}").strip()
