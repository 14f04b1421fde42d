r"""The patterns of goss for what is read line by line.

``foo``: a line contains it; ``!foo``: none does; ``\!foo``: a line contains ``!foo``; ``/re/`` and ``!/re/``: a line
matches the regular expression, or none does. An empty pattern is always found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reactor.resources.health.goss.regexp import regexp


def have_patterns(text: str, patterns: Sequence[str]) -> bool:
    """Whether all of ``patterns`` hold for the lines of ``text``."""
    lines = text.splitlines()
    return all(_holds(pattern, lines) for pattern in patterns)


def check_patterns(patterns: Any) -> None:
    """Raises ValueError when these are no patterns."""
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise ValueError("patterns are a list of texts")
    for pattern in patterns:
        _matcher(pattern.removeprefix("!"))


def _holds(pattern: str, lines: Sequence[str]) -> bool:
    wanted = not pattern.startswith("!")
    found = any(map(_matcher(pattern if wanted else pattern[1:]), lines))
    return found is wanted or not pattern


def _matcher(pattern: str) -> Callable[[str], object]:
    """What tells whether a line has the pattern, which has lost its negation. Raises ValueError."""
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        return regexp(pattern[1:-1]).search
    part = pattern.removeprefix("\\")
    return lambda line: part in line
