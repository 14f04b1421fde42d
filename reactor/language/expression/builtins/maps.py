"""Builtins for maps."""

from __future__ import annotations

from typing import Any

from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.errors import FunctionError
from reactor.language.expression.kinds import kind

_PAIR = 2


def _from_pairs(pairs: Any) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for pair in pairs:
        if kind(pair) != "array" or len(pair) != _PAIR:
            raise FunctionError("each pair must be a list of two elements: [key, value]")
        key, value = pair
        if kind(key) not in ("string", "int", "float", "bool"):
            raise FunctionError(f"a key can't be {kind(key)}")
        result[key] = value
    return result


BUILTINS: dict[str, Builtin] = {
    "keys": builtin(list, "map", shallow=True),
    "values": builtin(lambda pairs: [pairs[key] for key in pairs], "map"),
    "toPairs": builtin(lambda pairs: [[key, pairs[key]] for key in pairs], "map"),
    "fromPairs": builtin(_from_pairs, "array"),
}
