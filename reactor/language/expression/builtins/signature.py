"""The declaration of a builtin: its function, and the kinds of its arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.values import kind


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function, the kinds that each argument may have (None means every kind), and the number of arguments.

    A ``shallow`` function reads only those elements of a list or map that it returns, so the evaluator does not
    measure all elements. ``cost`` is in steps, in addition to the one step of every call.
    """

    function: Callable[..., Any]
    accepts: tuple[frozenset[str] | None, ...]
    least: int
    most: int
    shallow: bool
    cost: int

    def check(self, name: str, arguments: list[Any]) -> None:
        """Raise FunctionError if an argument has a wrong kind."""
        accepts = self.accepts
        last = len(accepts) - 1
        for index, argument in enumerate(arguments):
            accepted = accepts[min(index, last)]
            if accepted is not None and kind(argument) not in accepted:
                expected = " or ".join(sorted(accepted))
                hint = f"the {_ORDINALS[index]} argument is {expected}" if index < len(_ORDINALS) else None
                raise FunctionError(f"invalid argument for {name} (type {kind(argument)})", hint)


_ORDINALS = ("first", "second", "third", "fourth")


def builtin(function: Callable[..., Any], *accepts: str, shallow: bool = False, cost: int = 0) -> Builtin:
    """Declare ``function``. Each of ``accepts`` lists the kinds of one argument: ``kind|kind``.

    ``?`` at its end means that the argument is optional, ``*`` that there may be any number of these, or none.
    """
    least = sum(not one.endswith(("?", "*")) for one in accepts)
    most = sys.maxsize if accepts and accepts[-1].endswith("*") else len(accepts)
    return Builtin(function, tuple(map(_kinds, accepts)), least, most, shallow, cost)


def _kinds(text: str) -> frozenset[str] | None:
    kinds = text.rstrip("?*").replace("number", "int|float")
    return None if kinds == "any" else frozenset(kinds.split("|"))
