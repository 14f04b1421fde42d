"""How one run of a vertex ended."""

from __future__ import annotations

from enum import StrEnum, auto


class Outcome(StrEnum):
    """How a run ended, as far as others are concerned. CANCELLED is no answer: the vertex runs again.

    UNHEALTHY is a failure after all was done: a refresh that the run carried is not made again. CRITICAL is the same, and the
    next run is to repair it.

    What is asked in every check has names of its own for the members it needs, of this and of other enumerations: before
    Python 3.12, looking one up in its class takes ten times as long as comparing with it.
    """

    OK = auto()
    CHANGED = auto()
    WOULD_CHANGE = auto()
    FAILED = auto()
    UNHEALTHY = auto()
    CRITICAL = auto()
    CANCELLED = auto()
