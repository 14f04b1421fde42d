"""Builtins for lists and maps. None changes its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.access import fetch
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.limits import sorted_in_chunks
from reactor.language.values import kind

_COMPARABLE = ({"int", "float"}, {"string"}, {"time.Time"}, {"time.Duration"}, {"bool"})


def _get(value: Any, key: Any) -> Any:
    try:
        return fetch(value, key)
    except FunctionError:
        return None


def _take(items: Any, count: int) -> list[Any]:
    if count < 0:
        raise FunctionError(f"cannot take {count} elements")
    return list(items[:count])


def _flatten(items: Any) -> list[Any]:
    def flat(items: Any) -> Iterator[Any]:
        for item in items:
            if kind(item) == "array":
                yield from flat(item)
            else:
                yield item

    return list(flat(items))


def _concat(*lists: Any) -> list[Any]:
    return [item for items in lists for item in items]


def _hashable(value: Any) -> Any:
    """Return a hashable object for ``value``. Two of these are equal exactly if ``==`` finds the values equal."""
    what = kind(value)
    if what == "array":
        return (what, tuple(map(_hashable, value)))
    if what == "map":
        return (what, frozenset((key, _hashable(value[key])) for key in value))
    return ("number" if what in ("int", "float") else what, value)


def _uniq(items: Any) -> list[Any]:
    first: dict[Any, Any] = {}
    for item in items:
        first.setdefault(_hashable(item), item)
    return list(first.values())


def sort_keys(values: list[Any], order: str) -> bool:
    """Return whether ``order`` is descending. Raises FunctionError if ``values`` can't be compared with each other."""
    if order not in ("asc", "desc"):
        raise FunctionError(f"invalid order {order}, expected asc or desc")
    kinds = {kind(value) for value in values}
    if kinds and not any(kinds <= comparable for comparable in _COMPARABLE):
        raise FunctionError(
            f"cannot sort values of the kinds {', '.join(sorted(kinds))}", "all numbers or all strings"
        )
    return order == "desc"


def _sort(items: Any, order: str = "asc") -> list[Any]:
    found: list[Any] = sorted_in_chunks(items, reverse=sort_keys(list(items), order))
    return found


_PAIR = 2


def _from_pairs(pairs: Any) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for pair in pairs:
        if kind(pair) != "array" or len(pair) != _PAIR:
            raise FunctionError("each pair must be a list of two elements: [key, value]")
        key, value = pair
        if kind(key) not in ("string", "int", "float", "bool"):
            raise FunctionError(f"a key can't be {kind(key)}")
        result[key] = value
    return result


BUILTINS: dict[str, Builtin] = {
    "len": builtin(len, "string|array|map", shallow=True),
    "first": builtin(lambda items: items[0] if items else None, "array|nil", shallow=True),
    "last": builtin(lambda items: items[-1] if items else None, "array|nil", shallow=True),
    "get": builtin(_get, "any", "any", shallow=True),
    "take": builtin(_take, "array", "int", shallow=True),
    "reverse": builtin(lambda items: list(reversed(items)), "array"),
    "uniq": builtin(_uniq, "array"),
    "concat": builtin(_concat, "array", "array*"),
    "flatten": builtin(_flatten, "array"),
    "sort": builtin(_sort, "array", "string?"),
    "keys": builtin(list, "map", shallow=True),
    "values": builtin(lambda pairs: [pairs[key] for key in pairs], "map"),
    "toPairs": builtin(lambda pairs: [[key, pairs[key]] for key in pairs], "map"),
    "fromPairs": builtin(_from_pairs, "array"),
}
