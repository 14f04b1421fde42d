"""Functions on numbers. Integers have 64 bits and wrap around, as in Go."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions
from reactor.language.templates.literals import number
from reactor.language.templates.values import string_of
from reactor.language.values import wrap_int64

_HALF: Final = 0.5


def whole(value: Any) -> int:
    """Convert ``value`` to an integer; 0 if that is impossible."""
    if isinstance(value, float):
        return wrap_int64(int(value)) if math.isfinite(value) else 0
    if isinstance(value, int):
        return int(value)
    if not isinstance(value, str):
        return 0
    digits, point, zeros = value.partition(".")
    try:
        found = number(digits if point and not zeros.strip("0") else value)
    except (Fault, IndexError):
        return 0
    return found if isinstance(found, int) else 0


def real(value: Any) -> float:
    """Convert ``value`` to a float; 0 if that is impossible."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def add(*values: Any) -> int:
    """Return the sum."""
    return wrap_int64(sum(map(whole, values)))


def mul(first: Any, *others: Any) -> int:
    """Return the product."""
    product = whole(first)
    for other in others:
        product = wrap_int64(product * whole(other))
    return product


def divided(first: Any, second: Any) -> tuple[int, int]:
    """Return the quotient, rounded towards 0, and the remainder."""
    dividend, divisor = whole(first), whole(second)
    if divisor == 0:
        raise Fault("runtime error: integer divide by zero")
    quotient = abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1)
    return wrap_int64(quotient), dividend - quotient * divisor


def rounded(value: Any, places: int, up_from: float = _HALF) -> float:
    """Round ``value`` to ``places`` decimal places. Rounds up fractions of at least ``up_from``."""
    power = math.pow(10, places)
    digits = power * real(value)
    found = math.ceil(digits) if math.modf(digits)[0] >= up_from else math.floor(digits)
    return found / power


def steps(start: int, stop: int, step: int) -> list[int]:
    """Return the numbers from ``start`` up or down to ``stop``, excluding ``stop``."""
    if step == 0 or (stop < start) != (step < 0):
        return []
    numbers = range(start, stop, step)
    current_budget().charge_items(len(numbers))
    return list(numbers)


def until(count: int) -> list[int]:
    """Return the numbers from 0 to ``count``, excluding ``count``."""
    return steps(0, count, -1 if count < 0 else 1)


def seq(*bounds: int) -> str:
    """Return numbers as the command seq prints them. The arguments are: end; start, end; or start, step, end."""
    if not 0 < len(bounds) <= 3:  # noqa: PLR2004  as documented
        return ""
    start, end = (1, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[-1])
    towards = -1 if end < start else 1
    step = bounds[1] if len(bounds) == 3 else towards  # noqa: PLR2004  as documented
    return " ".join(map(string_of, steps(start, end + towards, step)))


def atoi(text: str) -> int:
    """Parse a decimal number; return 0 for any other string."""
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    return int(text) if digits.isascii() and digits.isdigit() else 0


def _decimal(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., float]:
    """Return a function that calculates in decimal: 0.1 plus 0.2 is 0.3."""

    def calculate(first: Any, *others: Any) -> float:
        found = Decimal(repr(real(first)))
        for other in others:
            found = operation(found, Decimal(repr(real(other))))
        return float(found)

    return calculate


def _divided(first: Decimal, second: Decimal) -> Decimal:
    if second == 0:
        raise ValueError("decimal division by 0")
    return first / second


def from_octal(value: Any) -> int:
    """Parse octal digits; return 0 for any other value."""
    try:
        number = int(string_of(value), 8)
    except ValueError:
        return 0
    return number if wrap_int64(number) == number else 0


FUNCTIONS: Functions = {
    "toDecimal": from_octal,
    "add": add,
    "add1": lambda value: wrap_int64(whole(value) + 1),
    "add1f": lambda value: _decimal(Decimal.__add__)(value, 1),
    "addf": lambda *values: _decimal(Decimal.__add__)(0, *values),
    "atoi": atoi,
    "biggest": lambda first, *others: max(map(whole, (first, *others))),
    "ceil": lambda value: float(math.ceil(real(value))),
    "div": lambda first, second: divided(first, second)[0],
    "divf": _decimal(_divided),
    "float64": real,
    "floor": lambda value: float(math.floor(real(value))),
    "int": whole,
    "int64": whole,
    "max": lambda first, *others: max(map(whole, (first, *others))),
    "maxf": lambda first, *others: max(map(real, (first, *others))),
    "min": lambda first, *others: min(map(whole, (first, *others))),
    "minf": lambda first, *others: min(map(real, (first, *others))),
    "mod": lambda first, second: divided(first, second)[1],
    "mul": mul,
    "mulf": _decimal(Decimal.__mul__),
    "round": rounded,
    "seq": seq,
    "sub": lambda first, second: wrap_int64(whole(first) - whole(second)),
    "subf": _decimal(Decimal.__sub__),
    "until": until,
    "untilStep": steps,
}
