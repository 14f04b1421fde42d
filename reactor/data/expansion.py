"""Evaluates expressions in data. These can use only facts: data can't refer to other data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reactor.data.problem import DataProblem, DocumentPath
from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.expression.scope import Scope, TextMap

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


_ONLY_FACTS = "expressions in data can use only Facts"
_ONLY_LANGUAGE = (
    "expressions in data can't read files or secrets: call the function in a property of a resource"
)
_FUNCTIONS = dict.fromkeys(("file", "jet", "output", "readFile", "secret", "template"), _ONLY_LANGUAGE)
"""The hints for functions of resources."""


def data_scope(facts: Mapping[str, Any], *, strict: bool, moment: datetime | None) -> Scope:
    """Return the scope of expressions in data and in the hierarchy.

    If it is not ``strict``, a missing fact is an empty string, as in CCM, and ``Data`` is empty.
    """
    if strict:
        scope = Scope(
            {"Facts": facts}, strict=True, absent={"Data": _ONLY_FACTS, "Environ": _ONLY_FACTS, **_FUNCTIONS}
        )
    else:
        scope = Scope({"Facts": facts, "Data": {}, "Environ": TextMap()}, missing="empty", absent=_FUNCTIONS)
    scope.moment = moment
    return scope


class Expander:
    """Evaluates the expressions of one document.

    Adds errors to ``problems``, and missing keys, if CCM allows them, to ``warnings``.
    """

    def __init__(self, scope: Scope, problems: list[DataProblem]) -> None:
        self._scope = scope
        self._problems = problems
        self.warnings: list[DataProblem] = []

    def expand(self, value: Any, path: DocumentPath) -> Any:
        """Return the value at ``path`` with its expressions evaluated, except in keys. A failed one becomes null."""
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            return {key: self.expand(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.expand(inner, (*path, index)) for index, inner in enumerate(value)]
        return _whole(value) if isinstance(value, float) else value

    def match(self, text: str, path: DocumentPath) -> str | None:
        """Return ``text`` with its expressions evaluated; None if none of them had a value, or on an error."""
        try:
            template = parse_template(text)
            found, matched = (text, text != "") if template is None else template.match(self._scope)
        except ExpressionError as error:
            self._report(error, path)
            return None
        finally:
            self._note(path)
        return found if matched else None

    def _text(self, text: str, path: DocumentPath) -> Any:
        try:
            template = parse_template(text)
            return text if template is None else template.value(self._scope)
        except ExpressionError as error:
            self._report(error, path)
            return None
        finally:
            self._note(path)

    def _report(self, error: ExpressionError, path: DocumentPath) -> None:
        self._problems += (_problem(each, path) for each in (error, *error.others))

    def _note(self, path: DocumentPath) -> None:
        self.warnings += (_problem(each, path) for each in self._scope.warnings.pending)
        self._scope.warnings.pending.clear()


def _problem(error: ExpressionError, path: DocumentPath) -> DataProblem:
    return DataProblem(error.code, path, error.message, error.hint, error.start, error.end)


def _whole(value: float) -> int | float:
    """Convert a number without a fraction to an integer, as in CCM: ``1.0`` is 1."""
    return int(value) if value.is_integer() and _INT_MIN <= value <= _INT_MAX else value
