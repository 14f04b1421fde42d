"""What a manifest gives to templates: its data, and functions that read more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression.scope import Scope


class TemplateData(NamedTuple):
    """``context`` is the data of the manifest as ``Facts``, ``Data`` and ``Environ``, and the same in lower case.

    ``functions`` are some that expressions have too, failing the way those of templates do. When ``strict``, what is
    missing is an error.
    """

    context: dict[str, Any]
    functions: dict[str, Callable[..., Any]]
    has_secrets: bool
    strict: bool

    @classmethod
    def of(cls, scope: Scope, functions: Mapping[str, Callable[..., Any]]) -> TemplateData:
        """The data in ``scope``, and these functions."""
        faulting = {name: _faulting(function) for name, function in functions.items()}
        return cls({**scope.names, **scope.lookup_names}, faulting, bool(scope.secrets), scope.strict)


def _faulting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, failing the way a template's functions do."""
    from reactor.language.templates import Fault  # noqa: PLC0415 - few manifests have templates

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (FunctionError, ExpressionError) as error:
            raise Fault(error.message, error.hint or "") from error

    return call
