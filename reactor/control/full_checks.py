"""Requests for a full check by the active run, and the stream of its answer. `docs/control.md` describes both."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import trio

from reactor.control.broadcast import LIMIT

LARGEST_REQUEST = 4 << 20
"""Bytes. It has the environment of the client."""

REQUEST_FORM: dict[str, Any] = {
    "inputs": dict,
    "real_paths": list,
    "process": dict,
    "mounts": [(str, str, str)],
    "environ": dict,
    "has_environment_file": bool,
    "format": str,
    "diff": bool,
    "detailed_exitcodes": bool,
    "stdout": {"is_terminal": bool, "width": int},
    "stderr": {"is_terminal": bool},
}
"""The keys of a request, with the types of their values; see `reactor.control.requests.require_form`."""

HEARTBEAT = 2.0
"""Seconds after which an empty line is sent, so that the client knows that we live."""

PAUSE = 0.005
"""Seconds between two writes to the client: a write costs more than a repair, so it sends several lines."""


class Answering(Protocol):
    """Makes full checks for clients."""

    async def answer(self, request: dict[str, Any], parts: PartQueue) -> None:
        """Put the answer to ``request`` into ``parts``, and close it."""


class PartQueue:
    """The parts of one answer: JSON objects, each on a line. ``drop`` closes the connection of a client that is too slow."""

    def __init__(self, drop: Callable[[], None]) -> None:
        self._drop = drop
        self._waiting: list[str] = []
        self._size = 0
        self._is_closed = False
        self._new_data = trio.Event()

    def put(self, part: dict[str, Any]) -> None:
        """Queue one part; returns at once."""
        line = json.dumps(part, separators=(",", ":")) + "\n"
        self._waiting.append(line)
        self._size += len(line)
        if self._size > LIMIT:
            self._drop()
        self._new_data.set()

    def close(self) -> None:
        """Queue the end."""
        self._is_closed = True
        self._new_data.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        """The queued lines as they come, an empty one when none comes, until the end."""
        while True:
            with trio.move_on_after(HEARTBEAT):
                await self._new_data.wait()
            if not self._is_closed:
                await trio.sleep(PAUSE)
            self._new_data = trio.Event()
            is_last = self._is_closed
            waiting, self._waiting, self._size = self._waiting, [], 0
            yield "".join(waiting) or "\n"
            if is_last:
                return
