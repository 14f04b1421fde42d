r"""The patterns of goss, which are matched line by line, and its regular expressions, in the syntax of Go (RE2).

``foo``: a line contains it; ``!foo``: none does; ``\!foo``: a line contains ``!foo``; ``/re/`` and ``!/re/``: a line
matches the regular expression, or none does. An empty pattern always matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import re2


class Pattern(Protocol):
    """A compiled regular expression."""

    def search(self, text: str) -> object:
        """The match somewhere in ``text``; None if there is none."""


@cache
def regexp(text: str) -> Pattern:
    """Compile the regular expression ``text``. Raises ValueError when it is invalid."""
    options = re2.Options()
    options.log_errors = False  # the exception reports them
    try:
        compiled: Pattern = re2.compile(text, options)
    except re2.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {_reason(error)}") from error
    return compiled


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="backslashreplace") if isinstance(reason, bytes) else str(reason)


def have_patterns(text: str, patterns: Sequence[str]) -> bool:
    """Whether all of ``patterns`` hold for the lines of ``text``."""
    lines = text.splitlines()
    return all(_holds(pattern, lines) for pattern in patterns)


def check_patterns(patterns: Any) -> None:
    """Raise ValueError unless ``patterns`` is a list of valid patterns."""
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise ValueError("patterns are a list of strings")
    for pattern in patterns:
        _matcher(pattern.removeprefix("!"))


def _holds(pattern: str, lines: Sequence[str]) -> bool:
    wanted = not pattern.startswith("!")
    found = any(map(_matcher(pattern if wanted else pattern[1:]), lines))
    return found is wanted or not pattern


def _matcher(pattern: str) -> Callable[[str], object]:
    """A function that returns whether a line matches ``pattern``, without its negation. Raises ValueError."""
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        return regexp(pattern[1:-1]).search
    part = pattern.removeprefix("\\")
    return lambda line: part in line
