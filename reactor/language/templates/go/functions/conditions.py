"""Functions that choose between values, test them, or raise an error."""

from __future__ import annotations

from typing import Any

from reactor.language.errors import Fault
from reactor.language.templates.calls import Functions
from reactor.language.templates.go.functions.lists import same
from reactor.language.templates.values import go_kind, go_type


def default(fallback: Any, *given: Any) -> Any:
    """Return the given value; if it is empty or omitted, ``fallback``."""
    return given[0] if given and given[0] else fallback


def ternary(yes: Any, no: Any, condition: bool) -> Any:
    """Return ``yes`` if ``condition`` is true, else ``no``."""
    return yes if condition else no


def coalesce(*values: Any) -> Any:
    """Return the first value that is not empty."""
    return next(filter(None, values), None)


def fail(message: str) -> str:
    """Raise Fault with the template's own message."""
    raise Fault(message)


def _kind(value: Any) -> str:
    return "invalid" if value is None else go_kind(value)


def _type(value: Any) -> str:
    return "<nil>" if value is None else go_type(value)


FUNCTIONS: Functions = {
    "all": lambda *values: all(values),
    "any": lambda *values: any(values),
    "coalesce": coalesce,
    "default": default,
    "deepEqual": same,
    "empty": lambda value: not value,
    "fail": fail,
    "kindIs": lambda name, value: _kind(value) == name,
    "kindOf": _kind,
    "ternary": ternary,
    "typeIs": lambda name, value: _type(value) == name,
    "typeIsLike": lambda name, value: _type(value) in (name, f"*{name}"),
    "typeOf": _type,
}
