"""Writes names as an enumeration, for messages."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """The names as an enumeration: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
