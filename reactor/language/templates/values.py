"""The values of a template, as JSON has them: None, bool, int, float, str, list and dict.

Nothing here ever asks a value for an attribute, so there is no way from a template into Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from reactor.language.templates.budget import current_budget
from reactor.language.values import to_string

__all__ = ["OwnMap", "go_kind", "go_type", "sorted_keys", "sprint", "string_of"]


class OwnMap(dict[str, Any]):
    """A map that a template made, which it may therefore change. It can't change maps from outside."""


def string_of(value: Any) -> str:
    """Return ``value`` as Go's fmt prints it, charged to the budget."""
    if isinstance(value, list | tuple | Mapping):
        current_budget().charge_value(value)
    return to_string(value)


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """Return the keys in Go's order: strings by their characters, numbers by size."""
    keys = list(mapping)
    try:
        keys.sort()
    except TypeError:
        keys.sort(key=lambda key: (go_type(key), str(key)))
    return keys


def go_kind(value: Any) -> str:
    """Return Go's name of the kind of ``value``, for errors."""
    return go_type(value).partition("[")[0] or "slice"


def go_type(value: Any) -> str:
    """Return Go's name of the type of ``value``."""
    if value is None:
        return "nil"
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return "func" if callable(value) else "value that is not data"


_TYPE_NAMES: Final[Iterable[tuple[Any, str]]] = (
    (bool, "bool"),
    (str, "string"),
    (int, "int"),
    (float, "float64"),
    (Mapping, "map[string]interface {}"),
    (list | tuple, "[]interface {}"),
    (datetime, "time.Time"),
)


def sprint(values: Iterable[Any]) -> str:
    """Format as Go's Sprint: a space between two values when neither is a string."""
    parts: list[str] = []
    after_text = True
    for value in values:
        is_text = isinstance(value, str)
        if not (is_text or after_text):
            parts.append(" ")
        parts.append(string_of(value))
        after_text = is_text
    return "".join(parts)
