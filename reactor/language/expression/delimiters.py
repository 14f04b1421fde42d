"""Where expressions are in a text: ``{{ ... }}`` and ``${ ... }``, anywhere, with quotes respected.

``{{`` ends at the first ``}}`` outside quotes; ``${`` counts braces, so that predicates in braces work inside it.
Quotes are ``"..."`` and ``'...'`` with backslash escapes, and raw backticks. ``${{ x }}`` is a literal ``$`` and
``{{ x }}``. An opener without an end is literal text, and the search goes on after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reactor.language.expression.errors import ExpressionSyntaxError

_OPENER = re.compile(r"\{\{|\$\{(?!\{)")
_QUOTED = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|`[^`]*+`"""
_IN_BRACES = re.compile(rf"{_QUOTED}|\}}\}}|[\"'`]", re.DOTALL)
_IN_DOLLAR = re.compile(rf"{_QUOTED}|[{{}}]|[\"'`]", re.DOTALL)
_MOST_SEARCHED = 50_000_000
"""Characters looked through for ends that are not there: quotes may hide all the ends of a long text."""


class Piece(NamedTuple):
    """One expression of a text: the whole with its delimiters is ``[start, end)``, what it says ``[inner, close)``."""

    start: int
    inner: int
    close: int
    end: int


def pieces(text: str) -> Iterator[Piece]:
    """The expressions of ``text`` in their order; raises ExpressionError when looking for them would take too long."""
    position = searched = 0
    last = text.rfind("}")
    while (opener := _OPENER.search(text, position, last)) is not None:
        start, inner = opener.span()
        braces = text[start] == "{"
        close = _end_of_braces(text, inner) if braces else _end_of_dollar(text, inner)
        if close is not None:
            position = close + (2 if braces else 1)
            yield Piece(start, inner, close, position)
            continue
        position = inner
        searched += len(text) - inner
        if searched > _MOST_SEARCHED:
            raise ExpressionSyntaxError("too many openers without an end", start, inner, "close the quotes")


def _end_of_braces(text: str, position: int) -> int | None:
    for match in _IN_BRACES.finditer(text, position):
        found = match.group()
        if found == "}}":
            return match.start()
        if len(found) == 1:  # a quote that nothing closes
            return None
    return None


def _end_of_dollar(text: str, position: int) -> int | None:
    depth = 0
    for match in _IN_DOLLAR.finditer(text, position):
        found = match.group()
        if found == "{":
            depth += 1
        elif found == "}":
            if depth == 0:
                return match.start()
            depth -= 1
        elif len(found) == 1:
            return None
    return None
