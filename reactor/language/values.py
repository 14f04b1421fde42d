"""The kinds of values, and a value as a string of Go's ``fmt.Sprint``: ``<nil>``, ``[1 2 3]``, ``1e+06``.

Every operation checks the ``kind`` of its values, which raises an error for objects of any other class. So if the host
provides such an object by mistake, expressions can pass it around, but can't read or print it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final

from reactor.language.errors import FunctionError

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
"""Types that are sequences in Python, but not lists of this language."""
_SHOWN: Final = {"nil": "<nil>", "array": "list"}


class ListWithMethods(list[Any]):
    """A list of the host with methods that take no arguments, such as ``PrometheusFileSD()``: each gives a string."""

    def __init__(self, items: Iterable[Any], methods: Mapping[str, str]) -> None:
        super().__init__(items)
        self.methods = methods


def method_text(value: Any, name: str) -> str | None:
    """Return what the method ``name`` of a list of the host gives; None if ``value`` has no such method."""
    return value.methods.get(name) if type(value) is ListWithMethods else None


def kind(value: Any) -> str:
    """Return the kind of ``value``: nil, bool, int, float, string, array, map or one of the kinds of time.

    Raises FunctionError.
    """
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact
    for cls, name in () if isinstance(value, _BYTES) else _DERIVED:
        if isinstance(value, cls):
            return name
    raise FunctionError(f"a value of the type {type(value).__name__} can't be used in an expression")


def describe_kind(value: Any) -> str:
    """Return the kind of ``value`` as error messages name it: ``<nil>``, ``list``."""
    name = kind(value)
    return _SHOWN.get(name, name)


_NOT_NUMBERS = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
_WITH_EXPONENT = 1e6
_MILLISECOND, _SECOND = 1000, 1_000_000


def to_string(value: Any) -> str:
    """Return ``value`` as a string. The caller must have measured it, so it is neither too deep nor endless."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    return str(_WRITERS[kind(value)](value))


def float_to_string(value: float) -> str:
    """Return the shortest decimal that parses to ``value``. It has an exponent below 1e-4 and from 1e6 on."""
    shortest = repr(value).removesuffix(".0")
    if "e" in shortest or not _WITH_EXPONENT <= abs(value) < math.inf:
        return _NOT_NUMBERS.get(shortest, shortest)
    whole, _, fraction = shortest.removeprefix("-").partition(".")
    digits = (whole + fraction).rstrip("0")
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{'-' if value < 0 else ''}{mantissa}e+{len(whole) - 1:02d}"


def time(value: datetime) -> str:
    """Return a time such as ``2026-01-31 12:00:00.5 +0000 UTC``."""
    fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
    name = value.tzname() or ""
    zone = f"{value:%z}" if name.startswith(("UTC+", "UTC-")) else name
    return f"{value:%Y-%m-%d %H:%M:%S}{fraction} {value:%z} {zone}".rstrip()


def duration(value: timedelta) -> str:
    """Return a duration such as ``1h30m0s``, ``1.5s``, ``20ms`` or ``0s``."""
    microseconds = value // timedelta(microseconds=1)
    sign, left = ("-" if microseconds < 0 else ""), abs(microseconds)
    if left == 0:
        return "0s"
    if left < _MILLISECOND:
        return f"{sign}{left}µs"
    if left < _SECOND:
        return f"{sign}{_decimal(left, _MILLISECOND)}ms"
    minutes, rest = divmod(left, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, _SECOND)}s"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".") if rest else str(whole)


def _pairs(value: Any) -> str:
    keys = sorted(
        value, key=lambda key: (isinstance(key, str), to_string(key) if isinstance(key, str) else key or 0)
    )
    return f"map[{' '.join(f'{to_string(key)}:{to_string(value[key])}' for key in keys)}]"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "nil": lambda _: "<nil>",
    "bool": lambda value: "true" if value else "false",
    "int": str,
    "float": float_to_string,
    "string": str.__str__,
    "array": lambda value: f"[{' '.join(map(to_string, value))}]",
    "map": _pairs,
    "time.Time": time,
    "time.Duration": duration,
    "time.Location": str,
}


INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def check_int64(value: int) -> int:
    """Return ``value``. Raises FunctionError unless it fits into 64 bits, as all integers of the language do."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise FunctionError("integer overflow: the result needs more than 64 bits", "use a float: 1.0 * ...")


def wrap_int64(value: int) -> int:
    """Return ``value`` as a 64-bit integer. On overflow it wraps around, as in Go."""
    return (value - INT_MIN) % (1 << 64) + INT_MIN
