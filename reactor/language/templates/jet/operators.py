"""The operators of Jet."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget
from reactor.language.templates.values import go_type, string_of
from reactor.language.values import method_text, wrap_int64


class Invalid:
    """The type of `INVALID`: ``nil``, and the value of a missing key. It prints as an empty string."""

    __slots__ = ()


class SilentBool(int):
    """A bool that prints as an empty string: the result of includeIfExists."""

    __slots__ = ()


INVALID: Final = Invalid()
_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def printed(value: Any) -> str:
    """Return the output of ``[[ value ]]``. Floats have no exponent."""
    if value is INVALID or isinstance(value, SilentBool):
        return ""
    if not isinstance(value, float) or not math.isfinite(value):
        return string_of(value)
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def is_true(value: Any) -> bool:
    """Whether ``value`` is true for ``if``. As in Jet, an empty list or map is true: templates must test its len."""
    if value is None or value is INVALID:
        return False
    return isinstance(value, list | tuple | Mapping) or bool(value)


def type_for_error(value: Any) -> str:
    """Return the type of ``value``, for errors."""
    return "<invalid>" if value is INVALID else go_type(value)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a number. A bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal. Numbers are compared by value; nil equals only nil."""
    if left in (None, INVALID) or right in (None, INVALID):
        return left in (None, INVALID) and right in (None, INVALID)
    if is_number(left) and is_number(right):
        return bool(left == right)
    current_budget().step()
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return go_type(left) == go_type(right) and bool(left == right)


def compare(sign: str, left: Any, right: Any) -> bool:
    """Compare with ``<``, ``<=``, ``>`` or ``>=``.

    Raises Fault unless the left side is a number, and the right side is one or can be converted to one.
    """
    if not is_number(left):
        raise Fault(
            "a non numeric value in numeric comparative expression", f"it is a {type_for_error(left)}"
        )
    return _COMPARISONS[sign](left, _numeric(right))


def calculate(sign: str, left: Any, right: Any) -> Any:
    """Calculate with ``+``, ``-``, ``*``, ``/`` or ``%``. Raises Fault for values of the wrong type."""
    for side, value in (("left", left), ("right", right)):
        if value is INVALID:
            raise Fault(
                f"{side} side of the expression is no value", "test it with isset, or give it a default"
            )
    if isinstance(left, str):
        return _concatenated(sign, left, right)
    if not is_number(left):
        raise Fault(f"left side of {sign} is a {type_for_error(left)}, not a number")
    second = _numeric(right)
    if sign in "/%":
        return _divided(sign, left, second)
    found = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](left, second)
    return wrap_int64(found) if isinstance(found, int) else found


def _concatenated(sign: str, left: str, right: Any) -> str:
    if sign == "-":
        raise Fault("minus signal is not allowed with strings")
    if sign != "+":
        raise Fault("a non numeric value in multiplicative expression")
    second = printed(right)
    current_budget().charge_characters(len(left) + len(second))
    return left + second


def _divided(sign: str, left: float, right: float) -> float:
    if sign == "%":
        left, right = whole(left), whole(right)
    if right == 0:
        raise Fault("modulo by zero" if sign == "%" else "division by zero")
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrap_int64(quotient) if sign == "/" else left - quotient * right
    return left / right


def signed(sign: str, value: Any) -> Any:
    """Return ``-x`` or ``+x``."""
    if not is_number(value):
        raise Fault(
            f"additive expression: right side ({type_for_error(value)}) is not a numeric value (no left side)"
        )
    return -value if sign == "-" else value


def _numeric(value: Any) -> float:
    """Convert the right side of an expression to a number; it may be a string of digits. Raises Fault."""
    if is_number(value):
        return value  # type: ignore[no-any-return]  # is_number has checked it
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
        try:
            return float(value)
        except ValueError:
            raise Fault(f'"{value}" is not a number') from None
    raise Fault(f"a {type_for_error(value)} can't be converted to a number")


def member(value: Any, key: Any) -> Any:
    """Return ``value[key]``; INVALID for a missing key of a map. A method of a list is a function.

    Raises Fault if ``value`` can't have such a member.
    """
    if isinstance(value, Mapping):
        if not isinstance(key, str):
            raise Fault(f"can't use a {type_for_error(key)} as key for a map", "keys are strings")
        try:
            return value[key]
        except KeyError:
            return INVALID
    if isinstance(key, str) and (text := method_text(value, key)) is not None:
        return lambda: text
    if isinstance(value, list | tuple):
        return value[position(key, len(value))]
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return data[position(key, len(data))]
    name = key if isinstance(key, str) else printed(key)
    raise Fault(f"there is no field or method '{name}' in {type_for_error(value)}")


def whole(number: float) -> int:
    """Return the number without its fraction. Raises Fault for NaN and infinity."""
    if isinstance(number, float) and not math.isfinite(number):
        raise Fault(f"{printed(number)} is not a whole number")
    return int(number)


def position(key: Any, length: int) -> int:
    """Return ``key`` as an index less than ``length``. Raises Fault."""
    if not is_number(key):
        what = "nil" if key in (None, INVALID) else f"type {type_for_error(key)}"
        raise Fault(f"cannot index slice/array/string with {what}")
    index = whole(key)
    if not 0 <= index < length:
        raise Fault(f"index out of range: {index}")
    return index


def part(value: Any, start: Any, end: Any) -> Any:
    """Return ``value[start:end]``. An omitted bound is None. Raises Fault."""
    if not isinstance(value, str | list | tuple):
        raise Fault(f"a {type_for_error(value)} can't be sliced")
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    for bound in (start, end):
        if bound is not None and not is_number(bound):
            raise Fault(f"non numeric value in index expression kind {type_for_error(bound)}")
    first = 0 if start is None else whole(start)
    last = len(data) if end is None else whole(end)
    if not 0 <= first <= last <= len(data):
        raise Fault(f"slice bounds out of range [{first}:{last}] with length {len(data)}")
    found = data[first:last]
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found
