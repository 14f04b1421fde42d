"""Everything that the expressions of one manifest share, and the values that it provides to the templates of its resources."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from reactor.language.errors import ExpressionError
from reactor.language.expression.scope import Scope, TextMap
from reactor.manifest.evaluation import offset_in_source
from reactor.manifest.expression_functions import ExpressionFunctions
from reactor.manifest.inputs import Inputs
from reactor.manifest.source import Source


class TemplateValues:
    """What the templates of one resource are given. It stays valid when the manifest is loaded again.

    ``reads`` are the absolute paths of the files that functions have read; whoever has looked clears it.
    """

    def __init__(self, expression_functions: ExpressionFunctions) -> None:
        names = expression_functions.scope.names
        self._data = {name: value for name, value in names.items() if name != "Facts"}
        self._facts = _ReadFacts(names["Facts"])
        # Surroundings of its own: templates are rendered in threads, while expressions are evaluated.
        own = ExpressionFunctions(
            expression_functions.base,
            {**names, "Facts": self._facts},
            expression_functions.scope.secrets,
            strict=expression_functions.scope.strict,
            moment=expression_functions.moment,
        )
        self.context, self.functions, self.has_secrets, self.strict = own.for_templates()
        self.reads = own.reads
        self.moment = expression_functions.moment

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


class ExpressionContext(NamedTuple):
    """The manifest's text, the roots and functions of its expressions, and what is around it."""

    source: Source
    expression_functions: ExpressionFunctions

    @classmethod
    def of(
        cls,
        source: Source,
        data: Mapping[str, Any],
        secrets: frozenset[tuple[str, ...]],
        inputs: Inputs,
        *,
        strict: bool,
    ) -> ExpressionContext:
        """The world of a manifest with this ``data``, of which the paths ``secrets`` are secret.

        When ``strict``, what is missing is an error; else it is nil or empty, as in CCM.
        """
        environ = dict(inputs.environ) if strict else TextMap(inputs.environ)
        names = {"Facts": inputs.facts, "Data": data, "Environ": environ}
        secret_paths = frozenset(("Data", *path) for path in secrets)
        base = os.path.dirname(os.path.abspath(source.file))
        return cls(
            source, ExpressionFunctions(base, names, secret_paths, strict=strict, moment=inputs.moment)
        )

    def apart(self) -> ExpressionContext:
        """The same for another thread."""
        return self._replace(expression_functions=self.expression_functions.apart())

    @property
    def scope(self) -> Scope:
        """What every expression is evaluated in."""
        return self.expression_functions.scope

    @property
    def context(self) -> dict[str, Any]:
        """What a kind's validators are told: where relative paths begin, and how to get values for templates."""
        return {
            "base": self.expression_functions.base,
            "templates": partial(TemplateValues, self.expression_functions),
        }

    def slips(self) -> list[str]:
        """What expressions have missed since the last time, which is no error in CCM: for people, with the places."""
        return [
            f"{self.place(at, text, slip)}: {slip.message}{f'; {slip.hint}' if slip.hint else ''}"
            for at, text, slip in self.scope.warnings.take_new()
        ]

    def place(self, at: int, text: str, error: ExpressionError) -> str:
        """Where the culprit of ``error``, in the value ``text`` at the offset ``at``, stands: for people."""
        offset = offset_in_source(self.source, at, text, error.start, error.end)
        return str(self.source.lines.place(offset))
