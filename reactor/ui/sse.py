"""The stream of the page to one client, as server-sent events."""

from __future__ import annotations

import trio
from starlette.datastructures import Headers, QueryParams
from starlette.types import Receive, Scope, Send

from reactor.control.connection import place_of
from reactor.ui.live_page import LivePage

_DIGITS = 20
"""The longest number we read. No event has one that long."""


class SseStream:
    """An ASGI application of its own: streams until the run ends, the client leaves, or is too slow and dropped."""

    def __init__(self, page: LivePage) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        place = place_of(scope)
        with self._page.page_stream.listening(place.leave, _heard(scope)) as listener:
            place.stay()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_leave, receive, nursery.cancel_scope)
                headers = [(b"content-type", b"text/event-stream")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                while texts := await listener.take():
                    body = "".join(texts).encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
                nursery.cancel_scope.cancel()


def _heard(scope: Scope) -> int:
    """The number of the last event that the client has had before its connection was lost; 0 for none."""
    said = QueryParams(scope["query_string"]).get("since") or Headers(scope=scope).get("last-event-id", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) <= _DIGITS else 0


async def _leave(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
