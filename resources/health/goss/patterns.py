r"""The patterns of goss, which are matched line by line, and its regular expressions, in the syntax of Go (RE2).

``foo``: a line contains it; ``!foo``: none does; ``\!foo``: a line contains ``!foo``; ``/re/`` and ``!/re/``: a line
matches the regular expression, or none does. An empty pattern always matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

import re2

from reactor import stop_if_cancelled

_END = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_AT_ONCE = 4096
"""Lines after which a cancelled check ends."""


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
    return all(_holds(pattern, text) for pattern in patterns)


def lines_of(text: str) -> Iterator[str]:
    """The lines of ``text``, as str.splitlines finds them, one by one.

    A user may decide how many there are: a list of all would take gigabytes, and the event loop would wait for it.
    """
    start = 0
    for number, end in enumerate(_END.finditer(text)):
        if not number % _AT_ONCE:
            stop_if_cancelled()
        yield text[start : end.start()]
        start = end.end()
    if start < len(text):
        yield text[start:]


def check_patterns(patterns: Any) -> None:
    """Raise ValueError unless ``patterns`` is a list of valid patterns."""
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise ValueError("patterns are a list of strings")
    for pattern in patterns:
        _finder(pattern.removeprefix("!"))


def _holds(pattern: str, text: str) -> bool:
    wanted = not pattern.startswith("!")
    return _finder(pattern if wanted else pattern[1:])(text) is wanted or not pattern


def _finder(pattern: str) -> Callable[[str], bool]:
    """A function that returns whether a line of a text matches ``pattern``, without its negation. Raises ValueError."""
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        search = regexp(pattern[1:-1]).search
        return lambda text: any(search(line) is not None for line in lines_of(text))
    part = pattern.removeprefix("\\")
    if part and _END.search(part) is None:
        return lambda text: part in text
    return lambda text: any(part in line for line in lines_of(text))
