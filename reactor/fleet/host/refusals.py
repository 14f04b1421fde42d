"""Reports that something fails again and again, once until its next success."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.errors import ReactorError
from reactor.fleet.link.errors import DeniedError
from reactor.fleet.link.jetstream import JetStream

_CERTAIN = 4
"""Refusals in a row after which they are reported: an election of a leader takes some seconds."""

Warn = Callable[[str], None]


class Refusals:
    """``words`` are the beginning of the report. It comes after some refusals in a row, and not before ``least`` seconds."""

    def __init__(self, js: JetStream, words: str, warn: Warn, *, least: float = 0.0) -> None:
        self._js = js
        self._words = words
        self._warn = warn
        self._least = least
        self._count = 0
        self._began = 0.0
        self._is_told = False

    def add(self, error: Exception) -> None:
        """Count a refusal. The connection itself reports what is denied, and that it is down."""
        if not self._js.connection.up or isinstance(error, DeniedError):
            return
        self._began = self._began if self._count else trio.current_time()
        self._count += 1
        if self._count >= _CERTAIN and self.lasted >= self._least and not self._is_told:
            self._is_told = True
            self._warn(f"{self._words}: {error.message if isinstance(error, ReactorError) else error}")

    @property
    def lasted(self) -> float:
        """The seconds since the first; 0 if there is none."""
        return trio.current_time() - self._began if self._count else 0.0

    def end(self) -> None:
        """Note a success."""
        self._count, self._is_told = 0, False
