"""All that the expressions of one manifest share."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from reactor.language.errors import ExpressionError
from reactor.language.expression.scope import Scope, TextMap
from reactor.manifest.evaluation import offset_in_source
from reactor.manifest.expression_functions import ExpressionFunctions
from reactor.manifest.inputs import Inputs
from reactor.manifest.source import Source
from reactor.manifest.template_values import TemplateValues


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
