"""Whether a record that was read is one that was written: a disk may make another text of it, which is JSON, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
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
"""What JSON makes of each type that a field of an event may have."""

_LEFT_OUT: Final = {"health", "code"}
"""The fields that are in a record only where there is something to tell."""

_OTHERS: Final = {"recordslost": {"count": "int"}, "ensured": {"culprits": "tuple[str, ...]"}}
"""Records of the journal's own, and of those whom it does not know."""


def sound(record: Any) -> dict[str, Any]:
    """``record``, if it has all that its event has, in the right form. Of an unknown event, only what all have.

    Raises ValueError.
    """
    if not (isinstance(record, dict) and _is_text(record.get("event")) and _is_number(record.get("time"))):
        raise ValueError("it is no event")
    for key, of in _fields(record["event"]).items():
        if key not in record or not _SHAPES[of](record[key]):
            raise ValueError(f"its {key} is missing, or no such thing")
    return record


@cache
def _fields(event: str) -> dict[str, str]:
    for kind in Event.__subclasses__():
        if kind.__name__.lower() == event:
            return {field.name: str(field.type) for field in fields(kind) if field.name not in _LEFT_OUT}
    return _OTHERS.get(event, {})
