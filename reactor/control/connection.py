"""Serves HTTP/1.1 on one connection: h11 implements the protocol, ASGI applications answer.

Only continuous runs import it.

Requests for HTTP/2 and for web sockets are answered in HTTP/1.1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import h11
import trio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reactor.control.connection_slots import ConnectionSlot

LARGEST_HEAD = 16 << 10
"""The largest size of a request before its body, in bytes."""

_CHUNK = 64 << 10
_DISCARDED = 64  # chunks
_LINGER = 1.0
"""Seconds for which we read what a refused client still sends, so that it gets our answer."""

_VERSIONS = (b"1.0", b"1.1")
_NOT_SUPPORTED = 505
_UNEXPECTED = 500

Serve = Callable[[trio.SocketStream, ConnectionSlot], Awaitable[None]]


def connection_handler(application: ASGIApp, warn: Callable[[str], None]) -> Serve:
    """A handler that serves ``application`` on a connection. A misbehaving client loses its own connection only.

    ``warn`` is called for bugs. At most one request is started in each turn of the event loop, so that many requests
    delay a repair no more than one does.
    """
    turnstile = trio.Lock()

    async def one_by_one(scope: Scope, receive: Receive, send: Send) -> None:
        async with turnstile:
            await trio.lowlevel.checkpoint()
        await application(scope, receive, send)

    async def serve(stream: trio.SocketStream, place: ConnectionSlot) -> None:
        connection = Connection(stream, place)
        try:
            with place.scope:
                await connection.serve(one_by_one)
        except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            pass  # the client has disconnected
        except Exception as error:  # noqa: BLE001 - a bug met by one client must not end the run
            if not connection.answered:
                warn(f"a connection of a client failed: {type(error).__name__}: {error}")

    return serve


def place_of(scope: Scope) -> ConnectionSlot:
    """The slot of the connection of a request."""
    place: ConnectionSlot = scope["state"]["place"]
    return place


class Connection:
    """One client on ``stream``. Its requests are answered one after the other."""

    def __init__(self, stream: trio.SocketStream, place: ConnectionSlot) -> None:
        self._stream = stream
        self._place = place
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
        self._wants_body = True

    @property
    def answered(self) -> bool:
        """Whether the last request was answered completely."""
        return self._http.our_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)

    async def serve(self, application: ASGIApp) -> None:
        """Answer requests until the client disconnects, or its slot is taken away."""
        try:
            while (request := await self._next_request()) is not None:
                await self._answer(request, application)
                if not self._is_for_more():
                    break
                self._place.rest()
        except h11.RemoteProtocolError as error:
            await self._refuse(error.error_status_hint)
        await self._close()

    async def _next_request(self) -> h11.Request | None:
        event = await self._next_event()
        if not isinstance(event, h11.Request):
            return None
        if event.http_version not in _VERSIONS:
            await self._refuse(_NOT_SUPPORTED)
            return None
        self._wants_body = event.method != b"HEAD"
        self._place.work()
        return event

    async def _next_event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send_event(h11.InformationalResponse(status_code=100, headers=[]))
            await self._fill()
        return event

    async def _fill(self) -> bool:
        """Read from the client. Return False at the end of its stream, also if it left with a part of an answer unread."""
        try:
            data = bytes(await self._stream.receive_some(_CHUNK))
        except trio.BrokenResourceError:
            data = b""
        self._http.receive_data(data)
        return bool(data)

    async def _answer(self, request: h11.Request, application: ASGIApp) -> None:
        try:
            await application(_scope(request, self._place), self._receive, self._send)
        except Exception:
            if self._http.our_state is h11.SEND_RESPONSE:
                await self._refuse(_UNEXPECTED)
                raise
            if not self.answered:
                raise
            # The application has answered with its own error, as Starlette does before it raises the error again.

    def _is_for_more(self) -> bool:
        """Prepare for the next request. Return whether the connection can have one."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.SEND_BODY:
            while (event := self._http.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.EndOfMessage):
                    break
        if self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return False
        self._http.start_next_cycle()
        return True

    async def _close(self) -> None:
        """Read what the client still sends: unread bytes would make the kernel reset the connection and lose the answer."""
        with trio.move_on_after(_LINGER), suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._stream.send_eof()
            for _ in range(_DISCARDED):
                if not await self._stream.receive_some(_CHUNK):
                    break

    # ---- ASGI ----

    async def _receive(self) -> Message:
        """Return the next part of the request body; after its end, wait until the client disconnects."""
        if self._http.their_state is h11.SEND_BODY:
            try:
                event = await self._next_event()
            except h11.RemoteProtocolError:  # the body ended too early
                return {"type": "http.disconnect"}
            if isinstance(event, h11.Data):
                return {"type": "http.request", "body": bytes(event.data), "more_body": True}
            if isinstance(event, h11.EndOfMessage):
                return {"type": "http.request", "body": b"", "more_body": False}
        while len(self._http.trailing_data[0]) <= LARGEST_HEAD and await self._fill():
            pass
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            if not self._place.admitted:
                headers.append((b"connection", b"close"))
            await self._send_event(h11.Response(status_code=message["status"], headers=headers))
            return
        if (body := message.get("body")) and self._wants_body:
            await self._send_event(h11.Data(data=body))
        if not message.get("more_body", False):
            await self._send_event(h11.EndOfMessage())

    async def _send_event(self, event: h11.Event) -> None:
        data = self._http.send(event)
        try:
            await self._stream.send_all(data or b"")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._place.leave()  # the client broke the connection: the application must not report a bug
            await trio.lowlevel.checkpoint()

    async def _refuse(self, status: int) -> None:
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        headers = [("content-length", "0"), ("connection", "close")]
        await self._send_event(h11.Response(status_code=status, headers=headers))
        await self._send_event(h11.EndOfMessage())


def _scope(request: h11.Request, place: ConnectionSlot) -> dict[str, Any]:
    path, _, query = request.target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.1"},
        "http_version": request.http_version.decode(),
        "method": request.method.decode("ascii").upper(),
        "scheme": "http",
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(bytes(name), bytes(value)) for name, value in request.headers],
        "client": None,
        "server": None,
        "state": {"place": place},
        "extensions": {},
    }
