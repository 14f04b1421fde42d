"""How values and choices of a manifest are named in messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MAX_SHOWN = 60


def shown(value: Any) -> str:
    """A value found in a manifest, as a short phrase: ``'abc'``, ``5``, ``a list``."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return shortened(repr(value) if isinstance(value, str) else str(value))


def shortened(text: str) -> str:
    """The text on one line, its end cut off when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 3]}..."


def listed(words: Iterable[str], last: str = "or") -> str:
    """``a, b or c``."""
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final
