"""The values of a template, as JSON has them: None, bool, int, float, str, list and dict.

Nothing here ever asks a value for an attribute, so there is no way from a template into Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from reactor.language.templates.budget import budget
from reactor.language.values import to_string

__all__ = ["Own", "kind_name", "sorted_keys", "spaced", "text_of", "type_name"]


class Own(dict[str, Any]):
    """A map that a template made, which it may therefore change. What comes from outside stays as it is."""


def text_of(value: Any) -> str:
    """The text of ``value``, as Go's fmt prints it."""
    if isinstance(value, list | tuple | Mapping):
        budget().weigh(value)
    return to_string(value)


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """The keys in Go's order: texts by their characters, numbers by size."""
    keys = list(mapping)
    try:
        keys.sort()
    except TypeError:
        keys.sort(key=lambda key: (type_name(key), str(key)))
    return keys


def kind_name(value: Any) -> str:
    """Go's word for the kind of ``value``, as errors use it."""
    return type_name(value).partition("[")[0] or "slice"


def type_name(value: Any) -> str:
    """Go's name of the type that ``value`` would have there."""
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


def spaced(values: Iterable[Any]) -> str:
    """What Go's Sprint makes: a space between two values when neither is a text."""
    parts: list[str] = []
    after_text = True
    for value in values:
        is_text = isinstance(value, str)
        if not (is_text or after_text):
            parts.append(" ")
        parts.append(text_of(value))
        after_text = is_text
    return "".join(parts)
