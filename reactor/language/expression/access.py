"""Reads members, indexes and slices of values, by subscript only, never by attribute."""

from __future__ import annotations

import math
from typing import Any, Final

from reactor.language.errors import FunctionError
from reactor.language.expression.scope import TextMap
from reactor.language.values import describe_kind, kind, to_string

MISSING: Final = object()
_KEYS = frozenset(("nil", "bool", "int", "float", "string"))


def fetch(value: Any, key: Any) -> Any:
    """Return ``value.key`` or ``value[key]``. A missing key of a map is nil. Raises FunctionError for a bad index."""
    found = fetch_or_missing(value, key)
    return value_of_missing_key(value) if found is MISSING else found


def value_of_missing_key(value: Any) -> Any:
    """Return the value that a missing key of the map ``value`` has."""
    return "" if isinstance(value, TextMap) else None


def fetch_or_missing(value: Any, key: Any) -> Any:
    """Do the same as `fetch`, but return MISSING for a missing key of a map."""
    if type(value) is dict and type(key) is str:
        return value.get(key, MISSING)
    what = kind(value)
    if what == "map" and kind(key) in _KEYS and (isinstance(key, str) or key in value):
        try:
            return value[key]
        except KeyError:
            return MISSING
    if what in ("array", "string") and (kind(key) == "int" or (kind(key) == "float" and math.isfinite(key))):
        return _element(value, int(key))
    raise FunctionError(f"cannot fetch {_named(key)} from {describe_kind(value)}", _remedy(what, key))


def slice_of(value: Any, low: Any, high: Any) -> Any:
    """Return ``value[low:high]`` of a list or a string. Indexes beyond an end are moved to that end."""
    if kind(value) not in ("array", "string"):
        raise FunctionError(f"cannot slice {describe_kind(value)}", "only lists and strings have slices")
    for bound in (low, high):
        if bound is not None and kind(bound) != "int":
            raise FunctionError(
                f"cannot slice with {describe_kind(bound)}", "the ends of a slice are integers"
            )
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
    return to_string(key) if kind(key) in _KEYS else describe_kind(key)


def _remedy(what: str, key: Any) -> str | None:
    if what == "nil":
        return "the value before it is missing: use ?. to get nil, and ?? to give a default"
    if what == "array" and isinstance(key, str):
        return "a list is indexed by numbers: list[0]"
    return None
