"""The lines that a host sends, with limits: a broken or hostile host costs neither memory nor time."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, NamedTuple

import trio


class MisbehavedError(Exception):
    """The host sends what no `reactor receive` sends."""


class LineLimits(NamedTuple):
    """The most bytes of one line and of all; the most lines that are no event, such as the greeting of a shell."""

    line: int = 4 << 20
    all: int = 512 << 20
    noise: int = 100


LIMITS = LineLimits()


async def events(
    stream: trio.abc.ReceiveStream, limits: LineLimits = LIMITS
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the events in ``stream``: each line that is a JSON object with ``event``. Raises MisbehavedError."""
    noise = 0
    async for line in _lines(stream, limits):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and isinstance(record.get("event"), str):
            yield record
            continue
        noise += bool(line.strip())
        if noise > limits.noise:
            raise MisbehavedError(f"the host sent more than {limits.noise} lines that are no events")


async def _lines(stream: trio.abc.ReceiveStream, limits: LineLimits) -> AsyncIterator[bytes]:
    pieces: list[bytes] = []
    waiting = total = 0
    async for data in stream:
        total += len(data)
        if total > limits.all:
            raise MisbehavedError(f"the host sent more than {limits.all} bytes")
        *whole, rest = bytes(data).split(b"\n")
        for line in whole:
            yield b"".join((*pieces, line))
            pieces, waiting = [], 0
        pieces.append(rest)
        waiting += len(rest)
        if waiting > limits.line:
            raise MisbehavedError(f"the host sent a line of more than {limits.line} bytes")
    if waiting:
        yield b"".join(pieces)
