"""Builtins that evaluate a predicate for each element of a list.

Each function takes the list, the predicate ``of`` (a function of an element, its index and the accumulator), and the
extra argument of the builtin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.collections import sort_keys
from reactor.language.expression.limits import sorted_in_chunks
from reactor.language.expression.operators import add, truth
from reactor.language.values import check_int64, kind

Of = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Quantifier:
    """A builtin with a predicate. It takes ``least`` to ``most`` arguments, including the list."""

    function: Callable[[Any, Of, Any], Any]
    least: int
    most: int


def _holds(of: Of, item: Any, index: int) -> bool:
    return truth(of(item, index), "the predicate")


def _kept(items: Any, of: Of) -> list[Any]:
    return [item for index, item in enumerate(items) if _holds(of, item, index)]


def _find(items: Any, of: Of, _: Any) -> Any:
    return next((item for index, item in enumerate(items) if _holds(of, item, index)), None)


def _find_index(items: Any, of: Of, _: Any) -> int | None:
    return next((index for index, item in enumerate(items) if _holds(of, item, index)), None)


def _find_last_index(items: Any, of: Of, _: Any) -> int | None:
    return next((index for index in range(len(items) - 1, -1, -1) if _holds(of, items[index], index)), None)


def _find_last(items: Any, of: Of, _: Any) -> Any:
    index = _find_last_index(items, of, _)
    return None if index is None else items[index]


def _one(items: Any, of: Of, _: Any) -> bool:
    return len(_kept(items, of)) == 1


def _sum(items: Any, of: Of, _: Any) -> Any:
    total: Any = 0
    for index, item in enumerate(items):
        value = of(item, index)
        if kind(value) not in ("int", "float"):
            raise FunctionError(f"invalid argument for sum (a list with {kind(value)} in it)", "numbers only")
        total = add(total, value)
    return check_int64(total) if isinstance(total, int) else total


def _group_by(items: Any, of: Of, _: Any) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for index, item in enumerate(items):
        key = of(item, index)
        if kind(key) not in ("string", "int", "float", "bool", "nil"):
            raise FunctionError(
                f"cannot group by {kind(key)}", "the predicate must return a string, a number or a bool"
            )
        groups.setdefault(key, []).append(item)
    return groups


def _sort_by(items: Any, of: Of, order: Any) -> list[Any]:
    keys = [of(item, index) for index, item in enumerate(items)]
    descending = sort_keys(keys, "asc" if order is None else order)
    return [
        items[index] for index in sorted_in_chunks(range(len(keys)), key=keys.__getitem__, reverse=descending)
    ]


def _reduce(items: Any, of: Of, initial: Any) -> Any:
    start = 0
    if initial is NO_INITIAL:
        if not items:
            raise FunctionError("reduce of an empty list needs an initial value", "reduce(list, #acc + #, 0)")
        initial, start = items[0], 1
    for index in range(start, len(items)):
        initial = of(items[index], index, initial)
    return initial


NO_INITIAL: Any = object()
"""The extra argument of ``reduce`` when there is none. It is not nil, because nil is a value."""

PREDICATES: dict[str, Quantifier] = {
    "all": Quantifier(lambda items, of, _: all(_holds(of, item, i) for i, item in enumerate(items)), 2, 2),
    "none": Quantifier(
        lambda items, of, _: not any(_holds(of, item, i) for i, item in enumerate(items)), 2, 2
    ),
    "any": Quantifier(lambda items, of, _: any(_holds(of, item, i) for i, item in enumerate(items)), 2, 2),
    "one": Quantifier(_one, 2, 2),
    "filter": Quantifier(lambda items, of, _: _kept(items, of), 2, 2),
    "map": Quantifier(lambda items, of, _: [of(item, index) for index, item in enumerate(items)], 2, 2),
    "count": Quantifier(lambda items, of, _: len(_kept(items, of)), 1, 2),
    "sum": Quantifier(_sum, 1, 2),
    "find": Quantifier(_find, 2, 2),
    "findIndex": Quantifier(_find_index, 2, 2),
    "findLast": Quantifier(_find_last, 2, 2),
    "findLastIndex": Quantifier(_find_last_index, 2, 2),
    "groupBy": Quantifier(_group_by, 2, 2),
    "sortBy": Quantifier(_sort_by, 2, 3),
    "reduce": Quantifier(_reduce, 2, 3),
}
