"""The builtin functions of text/template, without ``and`` and ``or``: the evaluator implements these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reactor.language.errors import Fault
from reactor.language.templates.calls import Functions
from reactor.language.templates.printf import sprintf
from reactor.language.templates.values import go_type, html, javascript, sprint, string_of, url_query

_BAD_COMPARISON: Final = "invalid type for comparison"


def _basic(value: Any) -> type | None:
    """Return the type of ``value`` if values of this type can be compared with ``<``."""
    return next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), None)


def eq(first: Any, *others: Any) -> bool:
    """Whether ``first`` equals one of the others."""
    if not others:
        raise Fault("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: Any, other: Any) -> bool:
    kind = _basic(first)
    if first is None or other is None:
        return first is other
    if kind is not _basic(other):
        raise Fault(f"incompatible types for comparison: {go_type(first)} and {go_type(other)}")
    if kind is None:
        raise Fault(f"non-comparable type {string_of(first)}: {go_type(first)}", "compare what is in it")
    return bool(first == other)


def lt(first: Any, second: Any) -> bool:
    """Whether ``first`` is less than ``second``."""
    kind, other = _basic(first), _basic(second)
    if kind is None or other is None or kind is other is bool:
        raise Fault(_BAD_COMPARISON, "only numbers with numbers, or strings with strings")
    if kind is not other:
        raise Fault(f"incompatible types for comparison: {go_type(first)} and {go_type(second)}")
    return bool(first < second)


def le(first: Any, second: Any) -> bool:
    """Whether ``first`` is less than or equal to ``second``."""
    return lt(first, second) or eq(first, second)


def length(value: Any) -> int:
    """Return the number of items, or of bytes of a string."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list | tuple | Mapping):
        return len(value)
    raise Fault("len of nil pointer" if value is None else f"len of type {go_type(value)}")


def index(value: Any, *keys: Any) -> Any:
    """Return an item: ``index x 1 "a"`` is x[1]["a"]."""
    if value is None:
        raise Fault("index of untyped nil")
    for key in keys:
        value = _item(value, key)
    return value


def _item(value: Any, key: Any) -> Any:
    if value is None:
        raise Fault("index of nil pointer")
    if isinstance(value, Mapping):
        if not isinstance(key, str):
            raise Fault(
                "value is nil; should be of type string"
                if key is None
                else f"value has type {go_type(key)}; should be string"
            )
        return value.get(key)
    if not isinstance(value, str | list | tuple):
        raise Fault(f"can't index item of type {go_type(value)}")
    items = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return items[position(key, len(items) - 1)]


def position(key: Any, last: int) -> int:
    """Return ``key`` as an index. Raises Fault unless it is an integer from 0 to ``last``."""
    if isinstance(key, bool) or not isinstance(key, int):
        raise Fault(f"cannot index slice/array with {'nil' if key is None else f'type {go_type(key)}'}")
    if not 0 <= key <= last:
        raise Fault(f"index out of range: {key}")
    return key


def part(value: Any, *bounds: Any) -> Any:
    """Return a slice: ``slice x 1 2`` is x[1:2]."""
    if value is None:
        raise Fault("slice of untyped nil")
    if not isinstance(value, str | list | tuple):
        raise Fault(f"can't slice item of type {go_type(value)}")
    if len(bounds) > 2:  # noqa: PLR2004  a start and an end
        raise Fault(f"too many slice indexes: {len(bounds)}")
    items: bytes | Sequence[Any] = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    limits = [position(bound, len(items)) for bound in bounds]
    start, end = (*limits, len(items))[:2] if limits else (0, len(items))
    if start > end:
        raise Fault(f"invalid slice index: {start} > {end}")
    found = items[start:end]
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


def _printed(values: Sequence[Any]) -> str:
    return sprint("<no value>" if value is None else value for value in values)


def println(*values: Any) -> str:
    """Return the values as strings, with spaces between them and a line feed at the end."""
    return " ".join(map(string_of, values)) + "\n"


def printf(pattern: str, *values: Any) -> str:
    """Return the values formatted by ``pattern``, as Go's Sprintf does."""
    return sprintf(pattern, values)


def call(function: Any, *_values: Any) -> Any:
    """Raise Fault: no value of a template can be called."""
    raise Fault("call of nil" if function is None else f"non-function of type {go_type(function)}")


FUNCTIONS: Functions = {
    "call": call,
    "eq": eq,
    "ge": lambda first, second: not lt(first, second),
    "gt": lambda first, second: not le(first, second),
    "html": lambda *values: html(_printed(values)),
    "index": index,
    "js": lambda *values: javascript(_printed(values)),
    "le": le,
    "len": length,
    "lt": lt,
    "ne": lambda first, second: not eq(first, second),
    "not": lambda value: not value,
    "print": lambda *values: sprint(values),
    "printf": printf,
    "println": println,
    "slice": part,
    "urlquery": lambda *values: url_query(_printed(values)),
}
