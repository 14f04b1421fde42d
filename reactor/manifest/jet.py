"""Jet templates in manifests: `jet()` in expressions, and `resources_jet_file`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from reactor.expression.errors import ExpressionError, FunctionError
from reactor.expression.secret import SecretText
from reactor.manifest.networked import kv_get, registrations

if TYPE_CHECKING:
    from reactor.manifest.surroundings import Surroundings

SUFFIX = ".jet"


def render(body: str, delimiters: Sequence[str], surroundings: Surroundings) -> str:
    """The template ``body``, or the file it names if that ends in ``.jet``, rendered with the data of the manifest.

    The data go to it as ``Facts``, ``Data`` and ``Environ``, or the same in lower case. When anything in the data is
    secret, so is the result: nobody looks which of the data a template uses. Raises FunctionError.
    """
    from reactor.templates import TemplateError, engine  # noqa: PLC0415 - few manifests have templates

    is_file = body.endswith(SUFFIX)
    source = surroundings.read_file(body) if is_file else body
    marks = (delimiters[0], delimiters[1]) if delimiters else None
    names = surroundings.scope.names
    context = {**names, **{name.lower(): value for name, value in names.items()}}
    try:
        compiled = engine("jet").compile(
            source, name=body if is_file else "jet", delimiters=marks, loader=surroundings.read_file
        )
        text = compiled.render(context, _functions(surroundings))
    except TemplateError as error:
        raise FunctionError(str(error), error.hint or None) from error
    return SecretText(text) if surroundings.scope.secrets else text


def _functions(surroundings: Surroundings) -> dict[str, Callable[..., Any]]:
    functions = {
        "lookup": surroundings.lookup,
        "readFile": surroundings.read_file,
        "file": surroundings.read_file,
        "template": surroundings.template,
        "registrations": registrations,
        "kvGet": kv_get,
    }
    return {name: _faulting(function) for name, function in functions.items()}


def _faulting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, failing the way a template's functions do."""
    from reactor.templates import Fault  # noqa: PLC0415

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (FunctionError, ExpressionError) as error:
            raise Fault(error.message, error.hint or "") from error

    return call
