"""Builtins that convert values from one kind to another."""

from __future__ import annotations

import math
import re
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.values import check_int64, kind, to_string

INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
FLOAT = re.compile(r"[+-]?(?:(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?|nan))")
_LONGEST_NUMBER = 1000


def _int(value: Any) -> int:
    if isinstance(value, str):
        if INTEGER.fullmatch(value):
            return check_int64(int(value))
        raise FunctionError(f"invalid operation: int({value!r})", "the string must be an integer")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FunctionError(f"invalid operation: int({to_string(value)})")
        return check_int64(int(value))
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, str) and (len(value) > _LONGEST_NUMBER or not FLOAT.fullmatch(value)):
        raise FunctionError(f"invalid operation: float({value!r})", "the string must be a number")
    return float(value)


BUILTINS: dict[str, Builtin] = {
    "type": builtin(kind, "any", shallow=True),
    "int": builtin(_int, "number|string"),
    "float": builtin(_float, "number|string"),
    "string": builtin(to_string, "any"),
}
