"""Compiles operators, conditions, variables, and literals of lists and maps."""

from __future__ import annotations

from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.evaluation import (
    Closure,
    CompileChild,
    Evaluation,
    error_at,
    with_error_place,
)
from reactor.language.expression.limits import int_range
from reactor.language.expression.nodes import Binary, Conditional, Items, Let, Node, Pairs, Series, Unary
from reactor.language.expression.operators import BINARY, UNARY, range_length, truth
from reactor.language.values import describe_kind, kind, to_string

_REGEX_COST = 100
"""The steps for finding a pattern in the cache, or compiling it."""


def _unary(node: Unary, compile_child: CompileChild) -> Closure:
    of, operate = compile_child(node.value), UNARY[node.operator]
    return with_error_place(node, lambda evaluation: operate(of(evaluation)))


def _binary(node: Binary, compile_child: CompileChild) -> Closure:
    left, right = compile_child(node.left), compile_child(node.right)
    if node.operator in _OWN:
        return _OWN[node.operator](node, left, right)
    operate = BINARY[node.operator]
    cost = _REGEX_COST if node.operator == "matches" else 0
    keys_only = node.operator == "in"

    def binary(evaluation: Evaluation) -> Any:
        one, other = left(evaluation), right(evaluation)
        evaluation.measure(one)
        if not keys_only or kind(other) != "map":
            evaluation.measure(other)
        if cost:
            evaluation.charge(cost)
        return evaluation.charge_result(operate(one, other))

    return with_error_place(node, binary)


def _and(node: Binary, left: Closure, right: Closure) -> Closure:
    return lambda evaluation: (
        _true(left(evaluation), node.left, "a side of 'and'")
        and _true(right(evaluation), node.right, "a side of 'and'")
    )


def _or(node: Binary, left: Closure, right: Closure) -> Closure:
    return lambda evaluation: (
        _true(left(evaluation), node.left, "a side of 'or'")
        or _true(right(evaluation), node.right, "a side of 'or'")
    )


def _coalesce(_: Binary, left: Closure, right: Closure) -> Closure:
    def coalesce(evaluation: Evaluation) -> Any:
        value = left(evaluation)
        return right(evaluation) if value is None else value

    return coalesce


def _range(node: Binary, left: Closure, right: Closure) -> Closure:
    def ranged(evaluation: Evaluation) -> list[int]:
        low, high = left(evaluation), right(evaluation)
        # Charged before the list is made: an evaluation that must be brief never makes it.
        evaluation.charge(range_length(low, high))
        return int_range(low, high)

    return with_error_place(node, ranged)


_OWN = {"and": _and, "or": _or, "??": _coalesce, "..": _range}
"""The operators that may not evaluate both sides, or are charged before they run."""


def _conditional(node: Conditional, compile_child: CompileChild) -> Closure:
    test, yes, no = compile_child(node.test), compile_child(node.yes), compile_child(node.no)
    return lambda evaluation: (
        yes(evaluation) if _true(test(evaluation), node.test, "the condition") else no(evaluation)
    )


def _true(value: Any, node: Node, what: str) -> bool:
    if value is True or value is False:
        return bool(value)
    try:
        return truth(value, what)
    except FunctionError as error:
        raise error_at(error, node) from None


def _let(node: Let, compile_child: CompileChild) -> Closure:
    name, of, body = node.name, compile_child(node.value), compile_child(node.body)

    def let(evaluation: Evaluation) -> Any:
        evaluation.variables[name] = of(evaluation)
        return body(evaluation)

    return let


def _series(node: Series, compile_child: CompileChild) -> Closure:
    *others, last = map(compile_child, node.items)

    def series(evaluation: Evaluation) -> Any:
        for item in others:
            item(evaluation)
        return last(evaluation)

    return series


def _items(node: Items, compile_child: CompileChild) -> Closure:
    items = [compile_child(item) for item in node.items]
    return lambda evaluation: [item(evaluation) for item in items]


def _pairs(node: Pairs, compile_child: CompileChild) -> Closure:
    pairs = [(_key(key, compile_child), compile_child(value)) for key, value in node.pairs]
    return lambda evaluation: {key(evaluation): value(evaluation) for key, value in pairs}


def _key(node: Node, compile_child: CompileChild) -> Closure:
    of = compile_child(node)

    def key(evaluation: Evaluation) -> str:
        value = of(evaluation)
        if kind(value) not in ("string", "int", "float", "bool"):
            raise FunctionError(f"a key can't be {describe_kind(value)}")
        return to_string(value)

    return with_error_place(node, key)


COMPILERS: dict[type, Any] = {
    Unary: _unary, Binary: _binary, Conditional: _conditional, Let: _let, Series: _series, Items: _items, Pairs: _pairs,
}  # fmt: skip
