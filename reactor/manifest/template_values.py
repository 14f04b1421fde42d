"""What a manifest gives to the templates of one resource, for as long as the resource is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reactor.manifest.expression_functions import ExpressionFunctions


class TemplateValues:
    """What the templates of one resource are given. It stays valid when the manifest is loaded anew.

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
