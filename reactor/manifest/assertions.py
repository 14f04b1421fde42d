"""``assertions``: conditions about the host and the data that must hold before anything runs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import bare_expression, report_expression
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.nodes import INVALID, Mapping, Sequence
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader
from reactor.resource.property_types import Model

_HINT = "write each as '- assert: EXPRESSION', and below it a message"


class Assertion(Model):
    """A condition that must hold on every host that this manifest is for."""

    condition: Annotated[str, Field(alias="assert", min_length=1)]
    """An expression without braces, which is true or false."""
    message: str | None = None
    """The error if it is false. It may hold expressions."""


def check_assertions(node: Any, problems: Problems, expression_context: ExpressionContext) -> None:
    """Report each assertion of the list ``node`` that does not hold, or that can't be evaluated."""
    for index, each in enumerate(node or ()):
        if not isinstance(each, Mapping):
            if each is not INVALID:
                message = f"an assertion is a map, not {shown(each)}"
                problems.add("R0105", message, node.value_at(index), _HINT)
        elif (assertion := _assertion(each, problems)) is not None:
            _check(assertion, each, problems, expression_context)


def assertions_in(root: Mapping, problems: Problems) -> Sequence | None:
    """Return the list of assertions in the manifest ``root``, or None if it has no valid one."""
    node = root.get("assertions")
    if isinstance(node, Sequence):
        return node
    if node is not None and node is not INVALID:
        message = f"assertions must be a list, not {shown(node)}"
        problems.add("R0109", message, root.value_at("assertions"), _HINT)
    return None


def _assertion(node: Mapping, problems: Problems) -> Assertion | None:
    values = ValueReader(problems).read(node, Assertion)
    try:
        return Assertion.model_validate(values.plain)
    except ValidationError as error:
        Inspector(problems, Assertion, Declaration(node.at, node), "an assertion").report(error, values)
        return None


def _check(
    assertion: Assertion, node: Mapping, problems: Problems, expression_context: ExpressionContext
) -> None:
    scope, text, at = expression_context.scope, assertion.condition, node.value_at("assert")
    try:
        value = bare_expression(text).evaluate(scope)
        if not isinstance(value, bool):
            hint = "compare it with something: x == 'y', x != nil"
            problems.add("R0109", f"assert must be true or false, not {shown(value)}", at, hint)
        elif not value:
            problems.add("R0117", _message(assertion, expression_context), at)
    except ExpressionError as error:
        report_expression(error, problems, at, text)
    finally:
        scope.warnings.locate(at, text)


def _message(assertion: Assertion, expression_context: ExpressionContext) -> str:
    """Return the message, with its expressions evaluated. Raises ExpressionError."""
    if assertion.message is None:
        return f"the assertion failed: {assertion.condition}"
    template = parse_template(assertion.message)
    return assertion.message if template is None else template.render(expression_context.scope)
