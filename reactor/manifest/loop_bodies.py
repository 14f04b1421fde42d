"""What is wrong with the body of a loop whatever its elements are: its list may be empty, or known only in a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.expression.scope import Scope
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import bare_expression, report_expression
from reactor.manifest.likeness import has_expression
from reactor.manifest.loops import FOR_EACH, SUBITEMS
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.scalar_types import field_names
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader
from reactor.resource.base import Resource

_LOOP = (FOR_EACH, SUBITEMS)
_CONTROL = "control"


def check_body(
    model: type[Resource], name: str, declaration: Declaration, problems: Problems, scope: Scope
) -> None:
    """Report the unknown properties, the invalid values without expressions, and the expressions that never hold.

    The loop makes resources of ``model``, called ``name``. ``scope`` is that of expressions outside of the loop. A key
    that the data lack is no error here: perhaps there are no elements because there is nothing to describe.
    """
    body = declaration.body
    assert body is not None  # noqa: S101 - for mypy: a loop has a body
    elements = ("item", "key", "subitem", "subkey") if SUBITEMS in body else ("item", "key")
    names = {**scope.names, **dict.fromkeys(elements)}
    inside = Scope(names, scope.functions, absent=scope.absent)
    _check_text(name, declaration.at, problems, inside)
    for key, value in body.items():
        if key == _CONTROL:
            _check_conditions(value, problems, inside)
        elif key not in _LOOP:
            for text, at in _texts(value, body.value_at(key)):
                _check_text(text, at, problems, inside)
    _check_properties(model, declaration, body, problems)


def _check_properties(
    model: type[Resource], declaration: Declaration, body: Mapping, problems: Problems
) -> None:
    values = ValueReader(problems).read(body, model, (*_LOOP, "name"))
    known = field_names(model)
    for key in [key for key in values.plain if key in known and has_expression(body[key])]:
        del values.plain[key]
    try:
        model.model_validate(values.plain, context={"base": "/"})
    except ValidationError as error:
        Inspector(problems, model, declaration, model.kind).report_present(error, values)


def _check_conditions(control: Any, problems: Problems, scope: Scope) -> None:
    if not isinstance(control, Mapping):
        return
    for key in control.keys() & {"if", "unless"}:
        if isinstance(text := control[key], str):
            try:
                bare_expression(text).check(scope)
            except ExpressionError as error:
                report_expression(error, problems, control.value_at(key), text)


def _check_text(text: str, at: int, problems: Problems, scope: Scope) -> None:
    try:
        template = parse_template(text)
        if template is not None:
            template.check(scope)
    except ExpressionError as error:
        report_expression(error, problems, at, text)


def _texts(node: Any, at: int) -> Iterator[tuple[str, int]]:
    """Yield each string in a value of the tree, which is at the offset ``at``, with its own offset."""
    if isinstance(node, str):
        yield node, at
    elif isinstance(node, Mapping):
        for key in node:
            yield from _texts(node[key], node.value_at(key))
    elif isinstance(node, Sequence):
        for index, value in enumerate(node):
            yield from _texts(value, node.value_at(index))
