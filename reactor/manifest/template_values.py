"""What a manifest gives to templates: its data, and functions that read more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from reactor.expression.errors import ExpressionError, FunctionError
from reactor.manifest.networked import kv_get, registrations
from reactor.manifest.surroundings import Surroundings


def context_of(surroundings: Surroundings) -> dict[str, Any]:
    """The data of the manifest as ``Facts``, ``Data`` and ``Environ``, and the same in lower case."""
    names = surroundings.scope.names
    return {**names, **{name.lower(): value for name, value in names.items()}}


def functions_of(surroundings: Surroundings) -> dict[str, Callable[..., Any]]:
    """The functions that expressions have too, failing the way those of templates do."""
    functions = {
        "lookup": surroundings.lookup,
        "readFile": surroundings.read_file,
        "file": surroundings.read_file,
        "template": surroundings.template,
        "registrations": registrations,
        "kvGet": kv_get,
    }
    return {name: _faulting(function) for name, function in functions.items()}


class TemplateValues:
    """What the templates of one resource are given. It stays valid when the manifest is loaded anew.

    ``reads`` are the absolute paths of the files that functions have read; whoever has looked clears it.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        names = surroundings.scope.names
        self._data = {name: value for name, value in names.items() if name != "Facts"}
        self._facts = _ReadFacts(names["Facts"])
        # Surroundings of its own: templates are rendered in threads, while expressions are evaluated.
        own = Surroundings(surroundings.base, {**names, "Facts": self._facts}, surroundings.scope.secrets)
        self.context = context_of(own)
        self.functions = functions_of(own)
        self.has_secrets = bool(own.scope.secrets)
        self.reads = own.reads

    def matches(self, other: object) -> bool:
        """Whether templates that have used these values would make the same of those."""
        return isinstance(other, TemplateValues) and self._agree_with(other)

    def _agree_with(self, other: TemplateValues) -> bool:
        return self._data == other._data and self._facts.agree_with(other._facts)


class _ReadFacts(Mapping[str, Any]):
    """Facts, which are gathered as they are read, and what they were when they were read."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self._read: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        self._read[key] = value = self._facts[key]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def agree_with(self, other: _ReadFacts) -> bool:
        """Whether what was read of these is the same there."""
        return all(other._facts.get(key) == value for key, value in self._read.items())


def _faulting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, failing the way a template's functions do."""
    from reactor.templates import Fault  # noqa: PLC0415 - few manifests have templates

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (FunctionError, ExpressionError) as error:
            raise Fault(error.message, error.hint or "") from error

    return call
