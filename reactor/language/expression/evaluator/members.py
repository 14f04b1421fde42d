"""Compiles literals, names and members."""

from __future__ import annotations

from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.access import MISSING, fetch_or_missing, slice_of, value_of_missing_key
from reactor.language.expression.analysis import as_warning, no_such_key
from reactor.language.expression.evaluation import (
    Closure,
    CompileChild,
    Evaluation,
    error_at,
    evaluate_to_nil,
    with_error_place,
)
from reactor.language.expression.nodes import Chain, Constant, Member, Pointer, Root, Slice, Variable
from reactor.language.secrets import SecretText


class _NilInChainError(Exception):
    """``?.`` found nil, so the enclosing chain is nil. Used for control flow: the chain catches it."""


def _constant(node: Constant, _: CompileChild) -> Closure:
    value = node.value
    return lambda _evaluation: value


def _root(node: Root, _: CompileChild) -> Closure:
    name = node.name
    if name == "$env":
        return lambda evaluation: evaluation.roots
    return lambda evaluation: evaluation.note_secret(evaluation.roots[name])


def _variable(node: Variable, _: CompileChild) -> Closure:
    name = node.name
    return lambda evaluation: evaluation.variables[name]


def _pointer(node: Pointer, _: CompileChild) -> Closure:
    if node.name == "index":
        return lambda evaluation: evaluation.index
    if node.name == "acc":
        return lambda evaluation: evaluation.note_secret(evaluation.acc)
    return lambda evaluation: evaluation.note_secret(evaluation.item)


def _member(node: Member, compile_child: CompileChild) -> Closure:
    of, key_of = compile_child(node.value), compile_child(node.key)
    constant = node.key.value if isinstance(node.key, Constant) and isinstance(node.key.value, str) else None

    def member(evaluation: Evaluation) -> Any:
        value = of(evaluation)
        if node.optional and value is None:
            raise _NilInChainError
        if constant is not None and type(value) is dict:
            found = value.get(constant, MISSING)
        else:
            key = key_of(evaluation)
            try:
                found = fetch_or_missing(value, key)
            except FunctionError as error:
                raise error_at(error, node.key) from None
        if found is MISSING:
            return _absent(evaluation, node, value, constant or key_of(evaluation))
        if type(found) is SecretText:
            evaluation.tainted = True
        return found

    return member


def _absent(evaluation: Evaluation, node: Member, value: Any, key: Any) -> Any:
    """Return the value that the missing ``key`` has.

    Raises ExpressionError in a strict scope, unless the expression handles the missing key.
    """
    if node.may_be_missing and evaluation.scope.strict:
        return None
    found = value_of_missing_key(value)
    if not node.may_be_missing:
        if evaluation.scope.strict:
            raise error_at(no_such_key(node, value, key), node.key)
        evaluation.warnings.append(as_warning(error_at(no_such_key(node, value, key), node.key), found))
    return found


def _chain(node: Chain, compile_child: CompileChild) -> Closure:
    of = compile_child(node.value)

    def chain(evaluation: Evaluation) -> Any:
        try:
            return of(evaluation)
        except _NilInChainError:
            return None

    return chain


def _slice(node: Slice, compile_child: CompileChild) -> Closure:
    of = compile_child(node.value)
    low = compile_child(node.low) if node.low else evaluate_to_nil
    high = compile_child(node.high) if node.high else evaluate_to_nil

    def part(evaluation: Evaluation) -> Any:
        return evaluation.charge_result(slice_of(of(evaluation), low(evaluation), high(evaluation)))

    return with_error_place(node, part)


COMPILERS: dict[type, Any] = {
    Constant: _constant, Root: _root, Variable: _variable, Pointer: _pointer, Member: _member, Chain: _chain,
    Slice: _slice,
}  # fmt: skip
