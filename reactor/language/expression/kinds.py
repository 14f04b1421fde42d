"""The kinds of values that expressions know, by the names that ``type()`` gives them.

``kind`` is the gate: an object of any other class is an error wherever it turns up, so a value that the host let slip
in by mistake can be carried around, but neither looked into nor printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final

from reactor.language.expression.errors import FunctionError

_EXACT: Final[dict[type, str]] = {
    type(None): "nil",
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "map",
    datetime: "time.Time",
    timedelta: "time.Duration",
}
_DERIVED: Final[tuple[tuple[type, str], ...]] = (
    (str, "string"),
    (int, "int"),
    (float, "float"),
    (Mapping, "map"),
    (Sequence, "array"),
    (datetime, "time.Time"),
    (timedelta, "time.Duration"),
    (tzinfo, "time.Location"),
)
_BYTES: Final = (bytes, bytearray, memoryview)
"""Sequences for Python, but no lists of this language."""
_SHOWN: Final = {"nil": "<nil>", "array": "list"}


def kind(value: Any) -> str:
    """The kind of ``value``: nil, bool, int, float, string, array, map or one of the kinds of time."""
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact
    for cls, name in () if isinstance(value, _BYTES) else _DERIVED:
        if isinstance(value, cls):
            return name
    raise FunctionError(f"a value of the type {type(value).__name__} can't be used in an expression")


def shown(value: Any) -> str:
    """The kind of ``value`` as error texts spell it: ``<nil>``, ``list``."""
    name = kind(value)
    return _SHOWN.get(name, name)
