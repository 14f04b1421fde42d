"""Charges operators, methods and filters before they make results that can be much larger than their operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import chain
from typing import Any, Final

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget

METHODS: Final[Mapping[type, frozenset[str]]] = {
    str: frozenset((
        "capitalize", "casefold", "count", "endswith", "find", "isalnum", "isalpha", "isdecimal", "isdigit", "islower",
        "isspace", "istitle", "isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace",
        "rfind", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
    )),
    Mapping: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
}  # fmt: skip
"""The methods that templates may call. None of them changes its object, and large results are charged."""

_WIDTH: Final = re.compile(r"\d+")
_LARGEST_BITS: Final = 4096
_WIDEST: Final = 10**9
_MOST_DIGITS: Final = 400
"""The most decimal places. A float has no more, and rounding computes ten to this power."""


def calculate(operator: str, plain: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Charge the result of ``left operator right``, then return it."""
    if operator == "%" and isinstance(left, str):
        _count_pattern(left, right)
    elif operator == "**":
        _count_power(left, right)
    elif operator == "*":
        _count_product(left, right)
        _count_product(right, left)
    elif operator == "+":
        _count_copy(left)
        _count_copy(right)
    return plain(left, right)


def _count_pattern(pattern: str, values: Any) -> None:
    """Charge the widths in a pattern such as ``%5d``, and the widths among the values, for ``%*d``."""
    weighed(values)
    given = values if isinstance(values, tuple) else (values,)
    wide = (value for value in given if isinstance(value, int)) if "*" in pattern else ()
    widths = chain(map(_width, _WIDTH.findall(pattern)), wide)
    current_budget().charge_characters(
        len(pattern) + sum(map(abs, widths)) + sum(len(value) for value in given if isinstance(value, str))
    )


def _width(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    return _WIDEST if len(significant) > len(str(_WIDEST)) else int(significant)


def _count_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _LARGEST_BITS:
        raise Fault("the number is too large", "use a float: 2.0 ** ...")


def _count_product(value: Any, times: Any) -> None:
    if not isinstance(times, int):
        return
    if isinstance(value, str):
        current_budget().charge_characters(len(value) * max(0, times))
    elif isinstance(value, list | tuple):
        current_budget().charge_items(len(value) * max(0, times))
    elif isinstance(value, int) and value.bit_length() + times.bit_length() > _LARGEST_BITS:
        raise Fault("the number is too large", "use a float: 2.0 * ...")


def _count_copy(value: Any) -> None:
    if isinstance(value, str):
        current_budget().charge_characters(len(value))
    elif isinstance(value, list | tuple):
        current_budget().charge_items(len(value))


def weighed(value: Any) -> Any:
    """Charge everything in ``value``, and return it."""
    if isinstance(value, list | tuple | Mapping):
        current_budget().charge_value(value)
    return value


def concatenated(parts: Iterable[Any]) -> str:
    """Join the parts to one string, and charge it."""
    charge = current_budget().charge_characters
    texts: list[str] = []
    for part in parts:
        text = str(weighed(part))
        charge(len(text))
        texts.append(text)
    return "".join(texts)


def count_call(function: Any, arguments: tuple[Any, ...]) -> None:
    """Charge the result of a string method. Call it before the method."""
    for argument in arguments:
        weighed(argument)
    text = getattr(function, "__self__", None)
    if not isinstance(text, str) or not arguments:
        return
    if function.__name__ == "join":
        _count_joined(text, arguments[0])
    elif function.__name__ == "replace" and len(arguments) > 1:
        _count_replaced(text, *arguments[:2])


def _count_joined(separator: str, values: Any) -> None:
    if isinstance(values, list | tuple | Mapping):
        current_budget().charge_characters(
            sum(len(value) for value in values if isinstance(value, str)) + len(separator) * len(values)
        )


def _count_replaced(text: Any, old: Any, new: Any) -> None:
    if isinstance(text, str) and isinstance(old, str) and isinstance(new, str):
        current_budget().charge_characters(len(text) + text.count(old) * len(new))


def bounded(filters: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return Jinja's filters so that they charge their arguments and results; leaves out ``random``."""
    found = {
        name: _counted(function, _COUNTERS.get(name))
        for name, function in filters.items()
        if name not in ("random", "sum")
    }
    return {**found, "sum": _sum}


def _counted(function: Callable[..., Any], count: Callable[..., None] | None) -> Callable[..., Any]:
    passes = hasattr(function, "jinja_pass_arg")

    @wraps(function)
    def counted(*arguments: Any, **named: Any) -> Any:
        for argument in arguments[passes:]:
            weighed(argument)
        if count is not None:
            count(*arguments[passes:], **named)
        return function(*arguments, **named)

    return counted


def _center(value: Any, width: int = 80, **_: Any) -> None:
    current_budget().charge_characters(len(str(value)) + abs(width))


def _indent(value: Any, width: int | str = 4, *_: Any, **__: Any) -> None:
    text = str(value)
    margin = len(width) if isinstance(width, str) else abs(width)
    current_budget().charge_characters(len(text) + margin * (text.count("\n") + 1))


def _format(value: Any, *arguments: Any, **named: Any) -> None:
    _count_pattern(str(value), (*arguments, *named.values()))


def _replace(value: Any, old: Any = "", new: Any = "", *_: Any, **__: Any) -> None:
    _count_replaced(str(value), old, new)


def _join(values: Any, d: Any = "", *_: Any, **__: Any) -> None:
    _count_joined(str(d), values)


def _round(_: Any, precision: int = 0, *__: Any, **___: Any) -> None:
    if isinstance(precision, int) and abs(precision) > _MOST_DIGITS:
        raise Fault(f"round takes up to {_MOST_DIGITS} decimal places")


def _batch(_: Any, linecount: int = 0, *__: Any, **___: Any) -> None:
    current_budget().charge_items(abs(linecount))


def _slices(_: Any, slices: int = 0, *__: Any, **___: Any) -> None:
    current_budget().charge_items(abs(slices))


def _to_json(_: Any, indent: int | None = None, **__: Any) -> None:
    current_budget().charge_characters(abs(indent or 0) * 1000)


def _sum(values: Iterable[Any], start: float = 0) -> Any:
    """Return the sum of numbers. Jinja's own filter also adds lists, which takes quadratic time."""
    if not isinstance(start, int | float):
        raise Fault("sum adds numbers", "make one list with a loop")
    return sum(values, start)


_COUNTERS: Final[Mapping[str, Callable[..., None]]] = {
    "batch": _batch,
    "center": _center,
    "format": _format,
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "round": _round,
    "slice": _slices,
    "tojson": _to_json,
}
