"""Regular expressions as goss has them: those of Go, in linear time."""

from __future__ import annotations

from functools import cache
from typing import Protocol

import re2


class Pattern(Protocol):
    """A compiled expression."""

    def search(self, text: str) -> object:
        """What was found somewhere in ``text``; None for nothing."""


@cache
def regexp(text: str) -> Pattern:
    """The expression. Raises ValueError when it is none."""
    options = re2.Options()
    options.log_errors = False  # they are ours to tell
    try:
        compiled: Pattern = re2.compile(text, options)
    except re2.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {_reason(error)}") from error
    return compiled


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="backslashreplace") if isinstance(reason, bytes) else str(reason)
