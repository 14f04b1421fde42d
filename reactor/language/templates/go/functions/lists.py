"""Functions on lists. None of them changes its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions
from reactor.language.templates.go.functions.builtins import part
from reactor.language.templates.values import go_kind, go_type, string_of


def listed(value: Any, doing: str) -> list[Any]:
    """Return ``value`` as a new list. Raises Fault if it is no list."""
    if isinstance(value, list | tuple):
        return list(value)
    raise Fault(f"Cannot {doing} on type {go_kind(value)}")


def strings(value: Any) -> list[str]:
    """Return the items as strings, without nil. A value that is no list counts as the only item."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [string_of(item) for item in value if item is not None]
    return [string_of(value)]


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal and have the same type: 1 differs from true and from 1.0."""
    if go_type(first) != go_type(second):
        return False
    current_budget().charge_value(first)
    return bool(first == second)


def uniq(value: Any) -> list[Any]:
    """Return the items without duplicates."""
    found: list[Any] = []
    for item in listed(value, "find uniq"):
        if not any(same(item, other) for other in found):
            found.append(item)
    return found


def without(value: Any, *omitted: Any) -> list[Any]:
    """Return the items that are not among ``omitted``."""
    return [item for item in listed(value, "find without") if not any(same(item, one) for one in omitted)]


def has(needle: Any, value: Any) -> bool:
    """Whether the list contains ``needle``."""
    return value is not None and any(same(needle, item) for item in listed(value, "find has"))


def chunk(size: int, value: Any) -> list[list[Any]]:
    """Split a list into lists of ``size`` items."""
    if size < 1:
        raise Fault("a chunk has at least one item")
    items = listed(value, "chunk")
    return [items[start : start + size] for start in range(0, len(items), size)]


def sort_alpha(value: Any) -> list[str]:
    """Return the items as strings, sorted."""
    return sorted(strings(value)) if isinstance(value, list | tuple) else [string_of(value)]


def _ends(name: str, take: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    """Return a function that raises Fault for an empty list, and else applies ``take``."""

    def end(value: Any) -> Any:
        items = listed(value, f"find {name}")
        return take(items) if items else None

    return end


def concat(*lists: Any) -> list[Any]:
    """Return all items of all lists."""
    current_budget().charge_items(sum(len(value) for value in lists if isinstance(value, list | tuple)))
    return list(chain.from_iterable(listed(value, "concat") for value in lists))


def _both(functions: dict[str, Callable[..., Any]]) -> Iterable[tuple[str, Callable[..., Any]]]:
    """Yield each function under two names, with and without ``must``: ours always raise errors."""
    for name, function in functions.items():
        yield name, function
        yield f"must{name[0].upper()}{name[1:]}", function


FUNCTIONS: Functions = {
    "concat": concat,
    "list": lambda *items: list(items),
    "sortAlpha": sort_alpha,
    "toStrings": strings,
    "tuple": lambda *items: list(items),
    **dict(
        _both(
            {
                "append": lambda value, item: [*listed(value, "push"), item],
                "chunk": chunk,
                "compact": lambda value: [item for item in listed(value, "compact") if item],
                "first": _ends("first", lambda items: items[0]),
                "has": has,
                "initial": lambda value: listed(value, "find initial")[:-1],
                "last": _ends("last", lambda items: items[-1]),
                "prepend": lambda value, item: [item, *listed(value, "prepend")],
                "push": lambda value, item: [*listed(value, "push"), item],
                "rest": lambda value: listed(value, "find rest")[1:],
                "reverse": lambda value: listed(value, "find reverse")[::-1],
                "slice": part,
                "uniq": uniq,
                "without": without,
            }
        )
    ),
}
