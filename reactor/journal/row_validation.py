"""Checks that a record from the journal has the fields of its event: a damaged row may still be valid JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final

from reactor.engine.events import Cause, Event, Result
from reactor.resource.watch import WatchState

_CAUSES: Final = {word for cause in Cause for word in cause.words}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_SHAPES: Final[dict[str, Callable[[Any], bool]]] = {
    "str": _is_text,
    "str | None": lambda value: value is None or _is_text(value),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int),
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
    "tuple[str, ...]": _are_texts,
    "dict[str, int]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "Cause": lambda value: _are_texts(value) and _CAUSES.issuperset(value),
    "Result": lambda value: value in list(Result),
    "WatchState": lambda value: value in list(WatchState),
}
"""Type of a field, as annotated -> a function that says whether a JSON value is valid for it."""

_LEFT_OUT: Final = {"health", "code", "detail"}
"""Optional fields of a record."""

_OTHERS: Final = {"recordslost": {"count": "int"}, "ensured": {"culprits": "tuple[str, ...]"}}
"""The fields of records that are not events of the engine."""


def validated(record: Any) -> dict[str, Any]:
    """Return ``record`` if it has all fields of its event with the right types; else raise ValueError.

    An event of an unknown type needs only the common fields. What a version of reactor wrote that did not know an
    optional field yet gets the default of it.
    """
    if not (isinstance(record, dict) and _is_text(record.get("event")) and _is_number(record.get("time"))):
        raise ValueError("it is not an event")
    for key, default in _defaults(record["event"]).items():
        record.setdefault(key, default)
    for key, of in _fields(record["event"]).items():
        if key not in record or not _SHAPES[of](record[key]):
            raise ValueError(f"its {key} is missing or invalid")
    return record


@cache
def _fields(event: str) -> dict[str, str]:
    for kind in Event.__subclasses__():
        if kind.__name__.lower() == event:
            return {field.name: str(field.type) for field in fields(kind) if field.name not in _LEFT_OUT}
    return _OTHERS.get(event, {})


@cache
def _defaults(event: str) -> dict[str, Any]:
    """The fields that may be missing in a record, each with its default as JSON has it."""
    found = {}
    for kind in Event.__subclasses__():
        if kind.__name__.lower() == event:
            optional = (field for field in fields(kind) if field.name in _fields(event))
            found = {field.name: field.default for field in optional if field.default is not MISSING}
    return {name: list(default) if isinstance(default, tuple) else default for name, default in found.items()}
