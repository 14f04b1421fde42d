"""How one run of a vertex ended."""

from __future__ import annotations

from enum import Enum, auto


class Outcome(Enum):
    """How a run ended, as far as others are concerned. CANCELLED is no answer: the vertex runs again."""

    OK = auto()
    CHANGED = auto()
    WOULD_CHANGE = auto()
    FAILED = auto()
    CANCELLED = auto()
