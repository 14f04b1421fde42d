"""How one run of a vertex ended."""

from __future__ import annotations

from enum import StrEnum, auto


class Outcome(StrEnum):
    """How a run of a vertex ended, as the scheduler sees it. CANCELLED is not a result: the vertex runs again.

    UNHEALTHY means that everything was applied but a health check failed: a refresh that the run made is not repeated.
    CRITICAL is the same, but the next run should be a repair.

    Code that every check runs keeps the members it needs, of this and of other enumerations, in its own constants:
    before Python 3.12, looking one up in its class takes ten times as long as comparing with it.
    """

    OK = auto()
    CHANGED = auto()
    WOULD_CHANGE = auto()
    FAILED = auto()
    UNHEALTHY = auto()
    CRITICAL = auto()
    CANCELLED = auto()
