"""The functions of templates: their parameters, and how they are called.

A function is any Python callable. The annotations of its parameters are their types: ``str``, ``int``, ``float``,
``bool``, ``list[Any]``, ``dict[str, Any]``, or ``Any``. It raises `FunctionError` for errors. One whose result can be much
larger than its arguments charges the `current_budget` before.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

from reactor.language.errors import Fault, FunctionError, LimitFault
from reactor.language.templates.budget import current_budget

Functions = Mapping[str, Callable[..., Any]]
Call = TypeVar("Call", bound=Callable[..., Any])

ANY: Final = "any"
_KINDS: Final = {
    "str": "string",
    "int": "int",
    "float": "float64",
    "bool": "bool",
    "list[Any]": "[]interface {}",
    "dict[str, Any]": "map[string]interface {}",
}
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
MISTAKES: Final = (TypeError, ValueError, LookupError, ArithmeticError, OSError)
"""What a function raises that can't use its arguments; any other exception ends the rendering."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a callable."""

    call: Callable[..., Any]
    kinds: tuple[str, ...]
    required: int
    rest: str | None
    """The kind of all further arguments; None if it takes no more."""

    def kind(self, index: int) -> str:
        """Return the kind of the argument at ``index``."""
        return self.kinds[index] if index < len(self.kinds) else self.rest or ANY

    def accepts(self, count: int) -> bool:
        """Whether it can be called with ``count`` arguments."""
        return count >= self.required and (self.rest is not None or count <= len(self.kinds))


def takes_strings(call: Call) -> Call:
    """Declare that all parameters of a short function are strings."""
    call.__annotations__.update(dict.fromkeys(inspect.signature(call).parameters, "str"))
    return call


@lru_cache(maxsize=1024)
def signature_of(call: Callable[..., Any]) -> Signature:
    """Return the signature of ``call``."""
    parameters = list(inspect.signature(call).parameters.values())
    taken = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    rest = [parameter for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    return Signature(
        call,
        tuple(_kind(parameter) for parameter in taken),
        sum(parameter.default is inspect.Parameter.empty for parameter in taken),
        _kind(rest[0]) if rest else None,
    )


def _kind(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return _KINDS.get(annotation if isinstance(annotation, str) else getattr(annotation, "__name__", ""), ANY)


def call_function(name: str, function: Signature, values: Sequence[Any]) -> Any:
    """Call ``function``. Raises Fault with its name for an error.

    The strings among its arguments are charged: the results of most functions are about as long as their arguments.
    """
    current_budget().charge_characters(sum(len(value) for value in values if value.__class__ is str))
    try:
        return function.call(*values)
    except LimitFault:
        raise
    except FunctionError as error:
        raise Fault(f"error calling {name}: {error.message}", error.hint) from error
    except MISTAKES as error:
        raise Fault(f"error calling {name}: {error}") from error
