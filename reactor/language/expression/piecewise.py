"""Work on long lists in pieces: within one call of C nothing else goes on in the process, not even in other threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import merge
from typing import Any

_PIECE = 20_000
"""Elements that are worked on at once: some milliseconds for the slowest to compare."""


def numbers(low: int, high: int) -> list[int]:
    """All from ``low`` to ``high``, both included."""
    found: list[int] = []
    for start in range(low, high + 1, _PIECE):
        found.extend(range(start, min(start + _PIECE, high + 1)))
    return found


def ordered(items: Sequence[Any], *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> Any:
    """The list that `sorted` makes: what is equal stays in its order."""
    starts = range(0, len(items), _PIECE)
    pieces = [sorted(items[start : start + _PIECE], key=key, reverse=reverse) for start in starts]
    return pieces[0] if len(pieces) == 1 else list(merge(*pieces, key=key, reverse=reverse))
