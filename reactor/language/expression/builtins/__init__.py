"""The builtin functions, by topic: strings, numbers, lists and maps, conversions, encodings, times, predicates."""

from __future__ import annotations

from reactor.language.expression.builtins import collections, conversions, encodings, numbers, strings, times
from reactor.language.expression.builtins.predicates import PREDICATES
from reactor.language.expression.builtins.signature import Builtin

BUILTINS: dict[str, Builtin] = {
    **strings.BUILTINS, **numbers.BUILTINS, **collections.BUILTINS, **conversions.BUILTINS, **encodings.BUILTINS,
    **times.BUILTINS,
}  # fmt: skip

__all__ = ["BUILTINS", "PREDICATES", "Builtin", "arguments_problem"]


def arguments_problem(name: str, count: int) -> str | None:
    """Return the reason why the builtin ``name`` can't be called with ``count`` arguments.

    Returns None if it can, and for functions that are no builtins.
    """
    if name == "lookup":
        least, most = 1, 2
    elif name in PREDICATES:
        least, most = PREDICATES[name].least, PREDICATES[name].most
    elif name in BUILTINS:
        least, most = BUILTINS[name].least, BUILTINS[name].most
    else:
        return None
    if count < least:
        return f"not enough arguments to call {name}: {least} expected, {count} given"
    if count > most:
        return f"too many arguments to call {name}: {most} expected, {count} given"
    return None
