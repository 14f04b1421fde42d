"""The operators. Numbers are 64-bit integers and floats; ``/`` and ``**`` always return a float."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.limits import (
    MAX_INPUT_LENGTH,
    MAX_SEARCHED_LENGTH,
    MAX_STEPS,
    check_input_length,
    check_result_length,
)
from reactor.language.regex import compile_pattern
from reactor.language.values import check_int64, describe_kind, kind

_SCALARS = frozenset((str, int, float, bool, type(None)))
_NUMBERS = frozenset(("int", "float"))
_TIMES = frozenset(("time.Time", "time.Duration"))
_ORDERED = frozenset(("string", "time.Time", "time.Duration"))


def truth(value: Any, what: str) -> bool:
    """Return ``value``, which must be true or false. Raises FunctionError for anything else."""
    if value is True or value is False:
        return bool(value)
    raise FunctionError(
        f"{what} must be true or false, not {describe_kind(value)}", "compare it with something: x != nil"
    )


def equal(left: Any, right: Any) -> bool:
    """Whether two values are deeply equal. 1 equals 1.0, true is no number, and values of different kinds differ."""
    if type(left) is type(right) and type(left) in _SCALARS:
        return bool(left == right)
    one, other = kind(left), kind(right)
    if one == "array" == other:
        return len(left) == len(right) and all(map(equal, left, right))
    if one == "map" == other:
        return len(left) == len(right) and all(key in right and equal(left[key], right[key]) for key in left)
    return (one == other or {one, other} == _NUMBERS) and bool(left == right)


def contained(needle: Any, haystack: Any) -> bool:
    """Evaluate ``needle in haystack``: an element of a list, or a key of a map. Nothing is in nil."""
    what = kind(haystack)
    if what == "array":
        return any(equal(needle, item) for item in haystack)
    if what == "map":
        return kind(needle) not in ("array", "map") and needle in haystack
    if what == "nil":
        return False
    hint = "strings have contains: text contains 'part'" if what == "string" else None
    raise FunctionError(f'operator "in" not defined on {describe_kind(haystack)}', hint)


def add(left: Any, right: Any) -> Any:
    """Add numbers, strings, or a duration to a time or duration."""
    kinds = {kind(left), kind(right)}
    if kinds == {"string"}:
        check_result_length(len(left) + len(right))
        return left + right
    if kinds <= _NUMBERS or (kinds <= _TIMES and "time.Duration" in kinds):
        return _calculated(operator.add, left, right)
    hint = "convert it to a string: string(...)" if "string" in kinds else None
    raise _invalid(left, "+", right, hint)


def subtract(left: Any, right: Any) -> Any:
    """Subtract numbers, durations, or a duration from a time; or two times, which returns a duration."""
    one, other = kind(left), kind(right)
    if {one, other} <= _NUMBERS or (
        other in _TIMES and one in _TIMES and (one, other) != ("time.Duration", "time.Time")
    ):
        return _calculated(operator.sub, left, right)
    raise _invalid(left, "-", right)


def multiply(left: Any, right: Any) -> Any:
    """Multiply numbers, or a duration by a number."""
    kinds = {kind(left), kind(right)}
    if kinds <= _NUMBERS or ("time.Duration" in kinds and kinds & _NUMBERS):
        return _calculated(operator.mul, left, right)
    raise _invalid(left, "*", right)


def divide(left: Any, right: Any) -> float:
    """Divide numbers. The result is always a float. Division by zero returns infinity or NaN."""
    if not {kind(left), kind(right)} <= _NUMBERS:
        raise _invalid(left, "/", right)
    if right != 0:
        return _float(left) / _float(right)
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def remainder(left: Any, right: Any) -> int:
    """Return the remainder of integers. Its sign is that of ``left``, as in Go."""
    if kind(left) != "int" or kind(right) != "int":
        raise _invalid(left, "%", right)
    if right == 0:
        raise FunctionError("integer divide by zero")
    result: int = abs(left) % abs(right)
    return -result if left < 0 else result


def power(left: Any, right: Any) -> float:
    """Return ``left`` to the power of ``right``, always a float. If it is too large, it is infinite."""
    if not {kind(left), kind(right)} <= _NUMBERS:
        raise _invalid(left, "**", right)
    try:
        return math.pow(_float(left), _float(right))
    except OverflowError:
        odd = float(right).is_integer() and right % 2 == 1
        return -math.inf if left < 0 and odd else math.inf
    except ValueError:  # zero to a negative power, or a root of a negative number
        return math.inf if left == 0 else math.nan


def range_length(low: Any, high: Any) -> int:
    """Return the length of ``low..high``.

    Raises FunctionError for values that are no integers, or a range that is too long.
    """
    if kind(low) != "int" or kind(high) != "int":
        raise _invalid(low, "..", high)
    if high - low >= MAX_STEPS:
        raise FunctionError(
            f"memory budget exceeded: a range of {high - low + 1} numbers",
            f"the most is {MAX_STEPS}",
            code="R0305",
        )
    return max(0, int(high - low) + 1)


def negative(value: Any) -> Any:
    """Return ``-value`` of a number or a duration."""
    what = kind(value)
    if what == "int":
        return check_int64(-value)
    if what == "float":
        return -value
    if what == "time.Duration":
        return _calculated(operator.sub, timedelta(), value)
    raise FunctionError(f"invalid operation: - {describe_kind(value)}")


def positive(value: Any) -> Any:
    """Return ``+value`` of a number."""
    if kind(value) in _NUMBERS:
        return value
    raise FunctionError(f"invalid operation: + {describe_kind(value)}")


def inverted(value: Any) -> bool:
    """Return ``not value``."""
    if value is True or value is False:
        return not value
    hint = "not binds closely: write not (a == b)"
    raise FunctionError(f"invalid operation: not {describe_kind(value)}", hint)


_CONVERT = "convert the string: int('8'), or int(split('12.5', '.')[0]) for a version"


def compared(sign: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return the comparison ``sign``. It compares numbers with numbers, strings with strings, times with times."""

    def ordered(left: Any, right: Any) -> bool:
        one, other = kind(left), kind(right)
        if {one, other} <= _NUMBERS or (one == other and one in _ORDERED):
            return compare(left, right)
        is_text = "string" in (one, other) and not {one, other}.isdisjoint(_NUMBERS)
        raise _invalid(left, sign, right, _CONVERT if is_text else None)

    return ordered


def worded(word: str, test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    """Return the operator ``word`` between two strings. It is false if one of them is nil."""

    def between_texts(left: Any, right: Any) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return test(left, right)
        if {kind(left), kind(right)} <= {"string", "nil"}:
            return False
        raise _invalid(left, word, right)

    return between_texts


def _invalid(left: Any, sign: str, right: Any, hint: str | None = None) -> FunctionError:
    return FunctionError(f"invalid operation: {describe_kind(left)} {sign} {describe_kind(right)}", hint)


def _calculated(calculate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        result = calculate(left, right)
    except (OverflowError, ValueError):
        if isinstance(left, (datetime, timedelta)) or isinstance(right, (datetime, timedelta)):
            raise FunctionError("the time is out of range") from None
        return math.inf
    return check_int64(result) if type(result) is int else result


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def matches(text: str, pattern: str) -> bool:
    """Whether ``pattern`` matches anywhere in ``text``."""
    check_input_length(text, MAX_SEARCHED_LENGTH)
    try:
        return compile_pattern(pattern).search(text) is not None
    except UnicodeEncodeError:
        raise FunctionError("the text is not valid UTF-8") from None


def _contains(text: str, part: str) -> bool:
    """Whether ``part`` is in ``text``. Searches in chunks, so that other threads can run between them."""
    if len(text) <= MAX_INPUT_LENGTH:
        return part in text
    check_input_length(part)
    starts = range(0, len(text), MAX_INPUT_LENGTH)
    return any(part in text[start : start + MAX_INPUT_LENGTH + len(part)] for start in starts)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "%": remainder, "**": power,
    "==": equal, "!=": lambda left, right: not equal(left, right), "in": contained,
    "<": compared("<", operator.lt), ">": compared(">", operator.gt),
    "<=": compared("<=", operator.le), ">=": compared(">=", operator.ge),
    "matches": worded("matches", matches),
    "contains": worded("contains", _contains),
    "startsWith": worded("startsWith", str.startswith), "endsWith": worded("endsWith", str.endswith),
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {"not": inverted, "-": negative, "+": positive}
