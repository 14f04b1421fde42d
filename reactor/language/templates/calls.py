"""The functions of templates: their parameters, and how they are called.

A function is any Python callable. The annotations of its parameters are their types: ``str``, ``int``, ``float``,
``bool``, ``list[Any]``, ``dict[str, Any]``, or ``Any``. It raises `FunctionError` for errors. If its result can be
much larger than its arguments, it must charge the `current_budget` first.
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
"""The exceptions of a function that can't use its arguments. Any other exception ends the rendering."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a callable."""

    call: Callable[..., Any]
    kinds: tuple[str, ...]
    required: int
    rest: str | None
    """The type of all further arguments; None if there are none."""

    def kind(self, index: int) -> str:
        """Return the type of the argument at ``index``."""
        return self.kinds[index] if index < len(self.kinds) else self.rest or ANY

    def accepts(self, count: int) -> bool:
        """Whether the function can be called with ``count`` arguments."""
        return count >= self.required and (self.rest is not None or count <= len(self.kinds))


def takes_strings(call: Call) -> Call:
    """Declare that all parameters of ``call`` are strings. For short functions without annotations."""
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
    """Call ``function``. Raises Fault, with the function's name, for an error.

    Charges the strings among its arguments, because most results are about as long as the arguments.
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
