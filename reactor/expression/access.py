"""Reaching into values: members, indexes and slices. By subscript only, never by attribute."""

from __future__ import annotations

import math
from typing import Any

from reactor.expression.errors import FunctionError
from reactor.expression.kinds import kind, shown
from reactor.expression.text import text

_KEYS = frozenset(("nil", "bool", "int", "float", "string"))


def fetch(value: Any, key: Any) -> Any:
    """``value.key`` or ``value[key]``: nil for a key that a map does not have, an error for an index out of range."""
    if type(value) is dict and type(key) is str:
        return value.get(key)
    what = kind(value)
    if what == "map" and kind(key) in _KEYS and (isinstance(key, str) or key in value):
        try:  # not get(): a map with a default for missing keys, as Environ is, keeps it
            return value[key]
        except KeyError:
            return None
    if what in ("array", "string") and (kind(key) == "int" or (kind(key) == "float" and math.isfinite(key))):
        return _element(value, int(key))
    raise FunctionError(f"cannot fetch {_named(key)} from {shown(value)}", _remedy(what, key))


def cut(value: Any, low: Any, high: Any) -> Any:
    """``value[low:high]`` of a list or a text; indexes past the ends are the ends."""
    if kind(value) not in ("array", "string"):
        raise FunctionError(f"cannot slice {shown(value)}", "lists and texts have slices")
    for bound in (low, high):
        if bound is not None and kind(bound) != "int":
            raise FunctionError(f"cannot slice with {shown(bound)}", "the ends of a slice are integers")
    part = value[low:high]
    return part if isinstance(part, str) else list(part)


def _element(value: Any, index: int) -> Any:
    length = len(value)
    if -length <= index < length:
        return value[index]
    what = "string" if isinstance(value, str) else "array"
    hint = "get(list, index) gives nil for an index out of range"
    raise FunctionError(f"index out of range: {index} ({what} length is {length})", hint)


def _named(key: Any) -> str:
    return text(key) if kind(key) in _KEYS else shown(key)


def _remedy(what: str, key: Any) -> str | None:
    if what == "nil":
        return "what stands before it is missing: use ?. to get nil, and ?? to give a default"
    if what == "array" and isinstance(key, str):
        return "a list is indexed by numbers: list[0]"
    return None
