"""Expressions in data. They know the facts and nothing else: data can't refer to data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reactor.data.problem import DataProblem, DocumentPath
from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.expression.scope import Scope, TextMap

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


_ONLY_FACTS = "expressions in data know Facts and nothing else"


def data_scope(facts: Mapping[str, Any], *, strict: bool, moment: datetime | None = None) -> Scope:
    """What expressions in data and in the hierarchy may use.

    When it is not ``strict``, a fact that is missing is an empty string, as in CCM, and there is nothing in ``Data``.
    """
    if strict:
        scope = Scope({"Facts": facts}, strict=True, absent={"Data": _ONLY_FACTS, "Environ": _ONLY_FACTS})
    else:
        scope = Scope({"Facts": facts, "Data": {}, "Environ": TextMap()}, missing="empty")
    scope.moment = moment
    return scope


class Expander:
    """Evaluates expressions of one document; what fails is added to ``problems``, what CCM lets pass to ``slips``."""

    def __init__(self, scope: Scope, problems: list[DataProblem]) -> None:
        self._scope = scope
        self._problems = problems
        self.slips: list[DataProblem] = []

    def expand(self, value: Any, path: DocumentPath) -> Any:
        """The value at ``path`` with its expressions evaluated, keys excepted. One that fails is null."""
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            return {key: self.expand(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.expand(inner, (*path, index)) for index, inner in enumerate(value)]
        return _whole(value) if isinstance(value, float) else value

    def match(self, text: str, path: DocumentPath) -> str | None:
        """The text with its expressions evaluated, or None when none of them gave anything."""
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
        self.slips += (_problem(each, path) for each in self._scope.warnings.pending)
        self._scope.warnings.pending.clear()


def _problem(error: ExpressionError, path: DocumentPath) -> DataProblem:
    return DataProblem(error.code, path, error.message, error.hint, error.start, error.end)


def _whole(value: float) -> int | float:
    """A number without a fraction is an integer in data, as it is in CCM: ``1.0`` is 1."""
    return int(value) if value.is_integer() and _INT_MIN <= value <= _INT_MAX else value
