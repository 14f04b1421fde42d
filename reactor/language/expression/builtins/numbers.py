"""Builtins for numbers. Bit operations use 64-bit integers in two's complement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.limits import sorted_in_chunks
from reactor.language.values import check_int64, kind

_BITS = 64
_MASK = (1 << _BITS) - 1


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return float(towards(value))


def _half_away(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value)) if abs(value) < 1 << 52 else int(value)


def flat(values: Any) -> Iterator[Any]:
    """Yield the numbers in ``values``, which may contain nested lists of numbers."""
    for value in values:
        what = kind(value)
        if what == "array":
            yield from flat(value)
        elif what in ("int", "float"):
            yield value
        else:
            raise FunctionError(f"a number is expected, not {what}", "numbers, or lists of numbers")


def _extreme(choose: Callable[..., Any]) -> Builtin:
    def extreme(*values: Any) -> Any:
        return choose(flat(values), default=None)

    return builtin(extreme, "number|array", "number|array*")


def _mean(*values: Any) -> float:
    found = [float(value) for value in flat(values)]
    return sum(found) / len(found) if found else 0.0


def _median(*values: Any) -> float:
    found: list[float] = sorted_in_chunks([float(value) for value in flat(values)])
    if not found:
        return 0.0
    middle = len(found) // 2
    return found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2


def _signed(value: int) -> int:
    value &= _MASK
    return value - (1 << _BITS) if value >> (_BITS - 1) else value


def _shift(shift: Callable[[int, int], int]) -> Builtin:
    def shifted(value: int, bits: int) -> int:
        if bits < 0:
            raise FunctionError(f"invalid operation: negative shift count {bits} (type int)")
        return _signed(shift(value, min(bits, _BITS)))

    return builtin(shifted, "int", "int")


BUILTINS: dict[str, Builtin] = {
    "abs": builtin(lambda value: check_int64(abs(value)) if isinstance(value, int) else abs(value), "number"),
    "ceil": builtin(lambda value: _rounded(value, math.ceil), "number"),
    "floor": builtin(lambda value: _rounded(value, math.floor), "number"),
    "round": builtin(lambda value: _rounded(value, _half_away), "number"),
    "max": _extreme(max),
    "min": _extreme(min),
    "mean": builtin(_mean, "number|array", "number|array*"),
    "median": builtin(_median, "number|array", "number|array*"),
    "bitand": builtin(lambda one, other: _signed(one & other), "int", "int"),
    "bitor": builtin(lambda one, other: _signed(one | other), "int", "int"),
    "bitxor": builtin(lambda one, other: _signed(one ^ other), "int", "int"),
    "bitnand": builtin(lambda one, other: _signed(one & ~other), "int", "int"),
    "bitnot": builtin(lambda value: _signed(~value), "int"),
    "bitshl": _shift(lambda value, bits: value << bits),
    "bitshr": _shift(lambda value, bits: value >> bits),
    "bitushr": _shift(lambda value, bits: (value & _MASK) >> bits),
}
