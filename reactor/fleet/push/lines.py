"""The lines that a host sends, with limits: a broken or hostile host can't use up memory or time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple


class MisbehavedError(Exception):
    """The output of a host is not that of `reactor receive`."""


class LineLimits(NamedTuple):
    """The largest size in bytes of one line and of all lines; the largest number of lines that are no events."""

    line: int = 4 << 20
    all: int = 512 << 20
    noise: int = 100


LIMITS = LineLimits()


class EventParser:
    """Parses the output of a host: each line that is a JSON object with ``event`` is an event."""

    def __init__(self, limits: LineLimits = LIMITS) -> None:
        self._limits = limits
        self._pieces: list[bytes] = []
        self._waiting = self._total = self._noise = 0

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the events that ``data`` completes. Raises MisbehavedError."""
        self._total += len(data)
        if self._total > self._limits.all:
            raise MisbehavedError(f"the host sent more than {self._limits.all} bytes")
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield from self._event(b"".join((*self._pieces, line)))
            self._pieces, self._waiting = [], 0
        self._pieces.append(rest)
        self._waiting += len(rest)
        if self._waiting > self._limits.line:
            raise MisbehavedError(f"the host sent a line of more than {self._limits.line} bytes")

    def _event(self, line: bytes) -> Iterator[dict[str, Any]]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and isinstance(record.get("event"), str):
            yield record
            return
        self._noise += bool(line.strip())
        if self._noise > self._limits.noise:
            raise MisbehavedError(f"the host sent more than {self._limits.noise} lines that are no events")
