"""The syntax of gjson paths: splitting outside of quotes, brackets and escapes; wildcards; ``#(path op value)``."""

from __future__ import annotations

import fnmatch
import json
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from reactor.language.values import kind, to_string

_SPECIAL = re.compile(r'[\\"(\[{]')
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_PIECE = re.compile(r"\\.|[*?]|[^\\*?]+|\\", re.DOTALL)
_LITERAL_IN_GLOB = re.compile(r"([*?\[])")


@lru_cache(maxsize=1024)
def split(path: str, sign: str, most: int = -1) -> tuple[str, ...]:
    """Split ``path`` at each of the characters in ``sign``, or only at the first ``most`` of them."""
    if len(sign) == 1 and not _SPECIAL.search(path):
        return tuple(path.split(sign, most))
    parts: list[str] = []
    start = 0
    for position in outside(path):
        if path[position] in sign and len(parts) != most:
            parts.append(path[start:position])
            start = position + 1
    return (*parts, path[start:])


def outside(path: str) -> list[int]:
    """Return the positions of the characters that are not quoted, not escaped and not in brackets."""
    found: list[int] = []
    depth, quoted, skip = 0, False, False
    for position, sign in enumerate(path):
        if skip:
            skip = False
        elif sign == "\\":
            skip = True
        elif sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif depth == 0:
            found.append(position)
    return found


@lru_cache(maxsize=256)
def wildcard(part: str) -> re.Pattern[str]:
    """Compile ``*`` and ``?`` in a key or a query to a regular expression.

    fnmatch makes one that does not backtrack.
    """
    return re.compile(fnmatch.translate("".join(map(_glob, _PIECE.findall(part)))))


def _glob(piece: str) -> str:
    if piece in ("*", "?"):
        return piece
    literal = piece[1:] if len(piece) > 1 and piece[0] == "\\" else piece
    return _LITERAL_IN_GLOB.sub(r"[\1]", literal)


_OPERATOR = re.compile(r"==|=|!=|!%|<=|>=|<|>|%")
_COMPARE = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Query(NamedTuple):
    """A query. ``operator`` is empty if the path only has to exist."""

    path: str
    operator: str
    value: str


@lru_cache(maxsize=256)
def parsed(part: str) -> Query | None:
    """Parse ``(path op value)``; return None if it is no query."""
    if part[:1] != "(" or part[-1] != ")" or len(part) < len("(x)"):
        return None
    inner = part[1:-1].strip()
    for position in outside(inner):
        match = _OPERATOR.match(inner, position)
        if match is not None:
            sign = "=" if match.group() == "==" else match.group()
            return Query(inner[:position].rstrip(), sign, unquoted(inner[match.end() :].strip()))
    return Query(inner, "", "")


def holds(query: Query, value: Any, *, exists: bool) -> bool:
    """Whether ``value``, which was found at the path of the query, matches."""
    if query.value[:1] == "~":
        return _roughly(query, value, exists)
    if not exists or not query.operator:
        return exists
    holds_for = _HOLDS.get(kind(value))
    return holds_for is not None and holds_for(query, value)


def _number_holds(query: Query, value: float) -> bool:
    if query.operator not in _COMPARE:
        return False
    wanted = float(query.value) if _NUMBER.fullmatch(query.value) else 0.0
    return bool(_COMPARE[query.operator](value, wanted))


def _text_holds(query: Query, value: str) -> bool:
    if query.operator in _COMPARE:
        return bool(_COMPARE[query.operator](value, query.value))
    return (wildcard(query.value).match(value) is not None) == (query.operator == "%")


def _bool_holds(query: Query, value: bool) -> bool:
    """Compare ``value`` with the word true or false. False is less than true."""
    if query.operator not in _COMPARE or query.value not in ("true", "false"):
        return query.operator == "!="
    return bool(_COMPARE[query.operator](value, query.value == "true"))


_HOLDS: dict[str, Callable[[Query, Any], bool]] = {
    "string": _text_holds, "bool": _bool_holds, "int": _number_holds, "float": _number_holds,
}  # fmt: skip


def _roughly(query: Query, value: Any, exists: bool) -> bool:
    """Compare ``value`` as a bool: ``~true``, ``~false``, ``~null``, ``~*``."""
    wanted = query.value[1:]
    if wanted == "*":
        result = exists
    elif wanted == "null":
        result = not exists or value is None
    elif wanted in ("true", "false"):
        result = (exists and _truthy(value)) == (wanted == "true")
    else:
        return False
    return result if query.operator in ("=", "") else not result if query.operator == "!=" else False


def _truthy(value: Any) -> bool:
    what = kind(value)
    if what == "string":
        return to_string(value).lower() in ("1", "t", "true")
    return bool(value) if what in ("bool", "int", "float") else False


def unquoted(value: str) -> str:
    """Return ``value``. If it is in quotes, decode it as JSON."""
    if value[:1] != '"':
        return value
    try:
        return str(json.loads(value, strict=False))
    except ValueError:
        return value.strip('"')
