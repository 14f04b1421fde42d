"""What people see of long work: a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable

from reactor import emit_output

_INTERVAL = 1.0
"""Seconds. What takes less says nothing."""


class Progress:
    """Says at most one line in `_INTERVAL` seconds, by way of ``speak``."""

    def __init__(self, speak: Callable[[str], None] = emit_output) -> None:
        self._speak = speak
        self._next = time.monotonic() + _INTERVAL

    def __call__(self, line: Callable[[], str]) -> None:
        """Say ``line``, if it is time to."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _INTERVAL
            self._speak(line())
