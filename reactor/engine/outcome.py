"""How one run of a vertex ended."""

from __future__ import annotations

from enum import StrEnum, auto


class Outcome(StrEnum):
    """How a run ended, as far as others are concerned. CANCELLED is no answer: the vertex runs again.

    UNHEALTHY is a failure after all was done: a refresh that the run carried is not made again.
    """

    OK = auto()
    CHANGED = auto()
    WOULD_CHANGE = auto()
    FAILED = auto()
    UNHEALTHY = auto()
    CANCELLED = auto()
