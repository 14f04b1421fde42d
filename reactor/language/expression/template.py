"""Strings that contain expressions: ``{{ ... }}`` and ``${ ... }``, anywhere in the string.

``{{`` ends at the first ``}}`` outside quotes. ``${`` counts braces, so that predicates in braces work inside it.
Quotes are ``"..."`` and ``'...'`` with backslash escapes, and backticks without. ``${{ x }}`` is a literal ``$`` and
``{{ x }}``. An opening delimiter without an end is literal text, and the search continues after it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from reactor.language.errors import ExpressionError, ExpressionSyntaxError, FunctionError
from reactor.language.expression.analysis import Path
from reactor.language.expression.evaluation import Evaluation
from reactor.language.expression.expression import (
    CallSite,
    Expression,
    cached_expression,
    guarded,
    hide_parts,
    raise_first,
    report_all_missing,
)
from reactor.language.expression.scope import Scope
from reactor.language.values import kind

_OPENER = re.compile(r"\{\{|\$\{(?!\{)")
_BEFORE_NAME = re.compile(r"(\{\{|\$\{)\s*(\w+)")
_QUOTED = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|`[^`]*+`"""
_IN_BRACES = re.compile(rf"{_QUOTED}|\}}\}}|[\"'`]", re.DOTALL)
_IN_DOLLAR = re.compile(rf"{_QUOTED}|[{{}}]|[\"'`]", re.DOTALL)
_MOST_SEARCHED = 50_000_000
"""The most characters to search for missing ends: quotes may hide all the ends in a long string."""


class Piece(NamedTuple):
    """One expression in a string.

    It is at ``[start, end)`` with its delimiters, and at ``[inner, close)`` without them.
    """

    start: int
    inner: int
    close: int
    end: int


def pieces(text: str) -> Iterator[Piece]:
    """Yield the expressions in ``text`` in order. Raises ExpressionError if finding them would take too long."""
    position = searched = 0
    last = text.rfind("}")
    while (opener := _OPENER.search(text, position, last)) is not None:
        start, inner = opener.span()
        braces = text[start] == "{"
        close = _end_of_braces(text, inner) if braces else _end_of_dollar(text, inner)
        if close is not None:
            position = close + (2 if braces else 1)
            yield Piece(start, inner, close, position)
            continue
        position = inner
        searched += len(text) - inner
        if searched > _MOST_SEARCHED:
            raise ExpressionSyntaxError("too many openers without an end", start, inner, "close the quotes")


def _end_of_braces(text: str, position: int) -> int | None:
    for match in _IN_BRACES.finditer(text, position):
        found = match.group()
        if found == "}}":
            return match.start()
        if len(found) == 1:  # a quote that is never closed
            return None
    return None


def _end_of_dollar(text: str, position: int) -> int | None:
    depth = 0
    for match in _IN_DOLLAR.finditer(text, position):
        found = match.group()
        if found == "{":
            depth += 1
        elif found == "}":
            if depth == 0:
                return match.start()
            depth -= 1
        elif len(found) == 1:
            return None
    return None


def unclosed(text: str, names: Container[str]) -> ExpressionError | None:
    """Return a warning about an expression in ``text`` that begins with one of ``names`` and has no end, or None."""
    position = 0
    for piece in pieces(text):
        position = piece.end
    for match in _BEFORE_NAME.finditer(text, position):
        opener, name = match.groups()
        if name in names:
            closer = "}}" if opener == "{{" else "}"
            words = f"{opener!r} begins no expression, because {closer!r} is missing, and stays as it is"
            return ExpressionError(words, *match.span(1))
    return None


class Template:
    """A string that contains expressions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: list[str | tuple[Expression, int]] = []
        self._expressions: list[tuple[Expression, int]] = []
        errors: list[ExpressionError] = []
        position = 0
        for piece in pieces(text):
            try:
                found = (cached_expression(text[piece.inner : piece.close]), piece.inner)
            except ExpressionError as error:
                errors.append(error.moved(piece.inner))
                continue
            self._parts += (text[position : piece.start], found)
            self._expressions.append(found)
            position = piece.end
        raise_first(errors)
        self._parts.append(text[position:])
        self._parts = [part for part in self._parts if part != ""]
        self.may_be_unclosed = text.find("{", position) >= 0
        """Whether there may be an opener after the last expression."""

    @property
    def holds(self) -> bool:
        """Whether there is any expression. An opening delimiter without an end is plain text."""
        return bool(self._expressions)

    @property
    def path(self) -> tuple[str, ...] | None:
        """The path of the value that its only expression names, if there is nothing else in the string."""
        return self._expressions[0][0].path if self._is_one_value else None

    @property
    def _is_one_value(self) -> bool:
        """Whether the string is one expression and spaces, so that its value keeps its type."""
        texts = [part for part in self._parts if isinstance(part, str)]
        return len(self._expressions) == 1 and not any(text.strip() for text in texts)

    def render(self, scope: Scope) -> str:
        """Return the string with each expression replaced by the string of its value."""
        self.check(scope)
        evaluation = Evaluation(scope)
        with report_all_missing(self._missing, scope):
            return evaluation.mark_secret(
                guarded(evaluation, lambda: "".join(self._shown(evaluation)), len(self.text))
            )

    def value(self, scope: Scope) -> Any:
        """Return the value of the expression if the rest of the string is only spaces; else the rendered string."""
        if not self._is_one_value:
            return self.render(scope)
        self.check(scope)
        evaluation = Evaluation(scope)
        expression, start = self._expressions[0]
        with report_all_missing(self._missing, scope):
            value = guarded(
                evaluation, lambda: evaluation.export(_moved(expression, start, evaluation)), len(self.text)
            )
        if evaluation.tainted:
            hide_parts(expression, value, scope)
        return value

    def match(self, scope: Scope) -> tuple[str, bool]:
        """Return the rendered string, and whether any expression had a value that is not nil and not empty."""
        self.check(scope)
        evaluation = Evaluation(scope)
        matched: list[bool] = []
        with report_all_missing(self._missing, scope):
            text = guarded(evaluation, lambda: "".join(self._shown(evaluation, matched)), len(self.text))
        return evaluation.mark_secret(text), any(matched)

    def calls(self, name: str) -> tuple[CallSite, ...]:
        """Return all calls of the function ``name``, with their spans in the whole string."""
        if name not in self.text:
            return ()
        return tuple(
            CallSite(call.argument, call.start + start, call.end + start)
            for expression, start in self._expressions
            for call in expression.calls(name)
        )

    @cached_property
    def reads(self) -> frozenset[Path]:
        """The paths that it may read."""
        return frozenset(path for expression, _ in self._expressions for path in expression.reads)

    def names(self) -> frozenset[str]:
        """Return the roots and the host functions that it uses, including ``lookup``."""
        return frozenset().union(*(expression.names() for expression, _ in self._expressions))

    def check(self, scope: Scope) -> None:
        """Raise ExpressionError for names that ``scope`` lacks, before any expression touches a secret."""
        for expression, _ in self._expressions:
            try:
                expression.check(scope)
            except ExpressionError:
                raise_first(self._missing(scope))

    def _missing(self, scope: Scope) -> Iterator[ExpressionError]:
        for expression, start in self._expressions:
            for error in expression.missing(scope):
                yield self._of_statement(error.moved(start))

    def _of_statement(self, error: ExpressionError) -> ExpressionError:
        """Return ``error``, with another hint if its name is unknown beside a statement of Jinja, which may bind it."""
        if error.code != "R0302" or self.text.find("{%", 0, error.start) < 0:
            return error
        hint = "{% %} is not evaluated here: put the text into a file, and name that in the property template"
        return ExpressionError(error.message, error.start, error.end, hint, code=error.code)

    def _shown(self, evaluation: Evaluation, matched: list[bool] | None = None) -> Iterator[str]:
        """Yield the pieces of the result. Append to ``matched`` whether each expression had a value."""
        for part in self._parts:
            if isinstance(part, str):
                yield part
                continue
            touched, evaluation.tainted = evaluation.tainted, False
            try:
                shown = self._piece(*part, evaluation, matched)
            finally:
                evaluation.tainted |= touched
            yield shown

    def _piece(
        self, expression: Expression, start: int, evaluation: Evaluation, matched: list[bool] | None
    ) -> str:
        warnings = len(evaluation.warnings)
        value = _moved(expression, start, evaluation)
        if matched is not None:
            matched.append(value is not None and value != "")
        elif value is None:
            _note_nil(evaluation, expression, start, known=len(evaluation.warnings) > warnings)
        try:
            shown = evaluation.to_string(value)
        except FunctionError as error:
            raise ExpressionError(
                error.message, start, start + len(expression.text), error.hint, code=error.code
            ) from None
        if evaluation.tainted and kind(value) not in ("nil", "bool"):
            hide_parts(expression, shown, evaluation.scope)
        return shown


def _note_nil(evaluation: Evaluation, expression: Expression, start: int, *, known: bool) -> None:
    """Report that an expression in a string is nil: as an error if the scope is strict, else as a warning."""
    hint = "give it a default: ... ?? 'default'"
    end = start + len(expression.text)
    if evaluation.scope.strict:
        raise ExpressionError(
            "the expression gives nil, which would be written <nil>", start, end, hint, code="R0304"
        )
    if not known:
        evaluation.warnings.append(
            ExpressionError("the expression gives nil, which is written <nil>, as in CCM", start, end)
        )


def _moved(found: Expression, start: int, evaluation: Evaluation) -> Any:
    before = len(evaluation.warnings)
    try:
        value = found.run(evaluation)
    except ExpressionError as error:
        raise error.moved(start) from None
    if len(evaluation.warnings) > before:
        evaluation.warnings[before:] = (each.moved(start) for each in evaluation.warnings[before:])
    return value
