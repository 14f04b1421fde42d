"""The modifiers ``@name`` and ``@name:argument``. They return None if there is no result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language import json_codec
from reactor.language.errors import FunctionError
from reactor.language.expression.limits import WorkMeter
from reactor.language.values import kind


def _same(value: Any, _argument: str, _meter: WorkMeter) -> Any:
    return value


def _reverse(value: Any, _argument: str, meter: WorkMeter) -> Any:
    what = kind(value)
    if what not in ("array", "map"):
        return value
    meter.charge(len(value))
    return (
        list(reversed(value)) if what == "array" else {key: value[key] for key in reversed(_keys_of(value))}
    )


def _keys_of(value: Any) -> list[str]:
    return sorted(key for key in value if isinstance(key, str))


def _keys(value: Any, _argument: str, meter: WorkMeter) -> list[Any]:
    what = kind(value)
    if what not in ("array", "map"):
        return [None]
    meter.charge(len(value))
    return _keys_of(value) if what == "map" else [None] * len(value)


def _values(value: Any, _argument: str, meter: WorkMeter) -> Any:
    what = kind(value)
    if what != "map":
        return value if what == "array" else [value]
    meter.charge(len(value))
    return [value[key] for key in _keys_of(value)]


def _flatten(value: Any, argument: str, meter: WorkMeter) -> Any:
    if kind(value) != "array":
        return value
    meter.measure(value)
    deep = '"deep":true' in argument.replace(" ", "")
    result: list[Any] = []
    for item in value:
        if kind(item) == "array":
            result.extend(_flatten(item, argument, meter) if deep else item)
        else:
            result.append(item)
    return result


def _join(value: Any, _argument: str, meter: WorkMeter) -> Any:
    if kind(value) != "array":
        return value
    result: dict[Any, Any] = {}
    for item in value:
        if kind(item) == "map":
            meter.charge(1 + len(item))
            result.update((key, item[key]) for key in item)
    return result


def _to_text(value: Any, _argument: str, meter: WorkMeter) -> str:
    meter.measure(value)
    return json_codec.encode(value)


def _from_text(value: Any, _argument: str, meter: WorkMeter) -> Any:
    if not isinstance(value, str):
        return value
    meter.measure(value)
    try:
        return json_codec.decode(value)
    except FunctionError:
        return None


def _group(value: Any, _argument: str, meter: WorkMeter) -> Any:
    """Convert ``{"id": [1, 2], "at": [3, 4]}`` to ``[{"id": 1, "at": 3}, {"id": 2, "at": 4}]``."""
    if kind(value) != "map":
        return None
    rows: list[dict[str, Any]] = []
    for key in _keys_of(value):
        column = value[key] if kind(value[key]) == "array" else ()
        meter.charge(1 + len(column))
        rows.extend({} for _ in range(len(column) - len(rows)))
        for row, item in zip(rows, column, strict=False):
            row[key] = item
    return rows


MODIFIERS: dict[str, Callable[[Any, str, WorkMeter], Any]] = {
    "this": _same, "valid": _same, "pretty": _same, "ugly": _same, "reverse": _reverse, "keys": _keys,
    "values": _values, "flatten": _flatten, "join": _join, "tostr": _to_text, "fromstr": _from_text, "group": _group,
}  # fmt: skip
