"""What every expression keeps, valid or not: it gives a JSON-like value, or fails with a place in its text."""

from __future__ import annotations

from typing import Any

from random_expressions import DATA

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.expression.scope import Scope, TextMap

LEAVES = (type(None), bool, int, float, str)


class Trap:
    """An object that a host should never hand in; it notes every attribute that is read from it."""

    reached: list[str] = []  # noqa: RUF012 - shared on purpose

    def __getattribute__(self, name: str) -> Any:
        if name != "__class__":  # isinstance asks for it
            Trap.reached.append(name)
        return object.__getattribute__(self, name)


def scope(steps: int) -> Scope:
    """A world for random expressions, with a budget."""
    names = {"Data": DATA, "Facts": {"os": "linux"}, "Environ": TextMap({"HOME": "/root"}), "Trap": Trap()}
    return Scope(names, {"echo": lambda value: value}, steps=steps)


def breach(text: str, in_scope: Scope) -> str | None:
    """What ``text`` did that no expression may do; None when it kept all promises."""
    Trap.reached.clear()
    whole = f" ${{ {text} }} "
    try:
        template = parse_template(whole)
        value = None if template is None else template.value(in_scope)
        if template is not None:
            template.match(in_scope)
    except ExpressionError as error:
        if not 0 <= error.start <= error.end <= len(whole) or not error.message:
            return f"an error without a place: {error.message!r} {error.start}:{error.end}"
        value = None
    except Exception as error:  # noqa: BLE001 - that is what we look for
        return f"{type(error).__name__}: {error}"
    if Trap.reached:
        return f"reached the attributes {Trap.reached}"
    return None if plain(value) else f"a value of Python: {type(value)}"


def plain(value: Any) -> bool:
    """Whether ``value`` is made of nothing but what JSON has, and times."""
    if type(value) is list:
        return all(map(plain, value))
    if type(value) is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    return type(value) in LEAVES
