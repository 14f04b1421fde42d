"""The data and functions of a manifest's templates, and its Jet templates: `jet()` and `resources_jet_file`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression.scope import Scope
from reactor.language.secrets import SecretText
from reactor.manifest.evaluation import NotYetError


class TemplateData(NamedTuple):
    """The data and functions that a manifest provides to its templates.

    ``context`` has the data as ``Facts``, ``Data`` and ``Environ``, and under these names in lower case. ``functions``
    are the functions of expressions, but raise the errors of templates. When ``strict``, a missing value is an error.
    """

    context: dict[str, Any]
    functions: dict[str, Callable[..., Any]]
    has_secrets: bool
    strict: bool

    @classmethod
    def of(cls, scope: Scope, functions: Mapping[str, Callable[..., Any]]) -> TemplateData:
        """Return the data in ``scope``, with these functions."""
        faulting = {name: _faulting(function) for name, function in functions.items()}
        return cls({**scope.names, **scope.lookup_names}, faulting, bool(scope.secrets), scope.strict)


def _faulting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function, but raising the errors of templates."""
    from reactor.language.templates import Fault  # noqa: PLC0415 - few manifests have templates

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (FunctionError, ExpressionError) as error:
            raise Fault(error.message, error.hint or "") from error

    return call


SUFFIX = ".jet"


def render(
    body: str,
    delimiters: Sequence[str],
    data: TemplateData,
    read_file: Callable[[str], str],
    note: Callable[[str], None],
) -> str:
    """Render the template ``body``, or the file that it names if it ends in ``.jet``, with the data of the manifest.

    If anything in the data is secret, the whole result is secret, because the values that a template uses are unknown.
    Then the messages of errors are hidden too: they may quote values. If the data are not strict, calls ``note`` for
    each missing value. Raises FunctionError; NotYetError when a file is missing but may exist later.
    """
    from reactor.language.templates import MissingValues, TemplateError  # noqa: PLC0415 - few manifests have templates
    from reactor.language.templates.sandbox.engine import sandboxed_engine  # noqa: PLC0415

    is_file = body.endswith(SUFFIX)
    source = read_file(body) if is_file else body
    name, loader, missing = body if is_file else "jet", _Loader(read_file), MissingValues(strict=data.strict)
    try:
        compiled = sandboxed_engine("jet").compile(
            source,
            name=name,
            delimiters=(delimiters[0], delimiters[1]) if delimiters else None,
            loader=loader,
        )
        text = compiled.render(data.context, data.functions, missing)
    except TemplateError as error:
        if loader.awaited is not None:
            raise NotYetError from loader.awaited
        if data.has_secrets:
            shown = error.without_words(source if error.name == name else "")
            raise FunctionError(str(shown), shown.hint, code=error.code) from None
        raise FunctionError(str(error), error.hint or None, code=error.code) from error
    for each in missing.warnings:
        note(str(each))
    return SecretText(text) if data.has_secrets else text


class _Loader:
    """Reads templates by name. ``awaited`` is the NotYetError for a template file that may exist later."""

    def __init__(self, read_file: Callable[[str], str]) -> None:
        self._read_file = read_file
        self.awaited: NotYetError | None = None

    def __call__(self, name: str) -> str | None:
        try:
            return self._read_file(name)
        except NotYetError as error:
            self.awaited = error
        except FunctionError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
        return None
