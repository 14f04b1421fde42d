"""Operators and conditions."""

from __future__ import annotations

from typing import Any

from reactor.language.expression.errors import FunctionError
from reactor.language.expression.evaluator.closures import Below, Evaluate, placed, placing
from reactor.language.expression.kinds import kind
from reactor.language.expression.nodes import Binary, Conditional, Node, Unary
from reactor.language.expression.operators import BINARY, UNARY, range_length, truth
from reactor.language.expression.piecewise import numbers
from reactor.language.expression.run import Run

_REGEX_COST = 100
"""In steps: looking a pattern up, or compiling it."""


def _unary(node: Unary, below: Below) -> Evaluate:
    of, operate = below(node.value), UNARY[node.operator]
    return placing(node, lambda run: operate(of(run)))


def _binary(node: Binary, below: Below) -> Evaluate:
    left, right = below(node.left), below(node.right)
    if node.operator in _OWN:
        return _OWN[node.operator](node, left, right)
    operate = BINARY[node.operator]
    cost = _REGEX_COST if node.operator == "matches" else 0
    keys_only = node.operator == "in"

    def binary(run: Run) -> Any:
        one, other = left(run), right(run)
        run.measure(one)
        if not keys_only or kind(other) != "map":
            run.measure(other)
        if cost:
            run.charge(cost)
        return run.made(operate(one, other))

    return placing(node, binary)


def _and(node: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda run: (
        _true(left(run), node.left, "a side of 'and'") and _true(right(run), node.right, "a side of 'and'")
    )


def _or(node: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda run: (
        _true(left(run), node.left, "a side of 'or'") or _true(right(run), node.right, "a side of 'or'")
    )


def _coalesce(_: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    def coalesce(run: Run) -> Any:
        value = left(run)
        return right(run) if value is None else value

    return coalesce


def _range(node: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    def ranged(run: Run) -> list[int]:
        low, high = left(run), right(run)
        run.charge(range_length(low, high))  # before it is made: who must be brief makes none
        return numbers(low, high)

    return placing(node, ranged)


_OWN = {"and": _and, "or": _or, "??": _coalesce, "..": _range}
"""Operators that do not always evaluate both sides, or are paid for before they work."""


def _conditional(node: Conditional, below: Below) -> Evaluate:
    test, yes, no = below(node.test), below(node.yes), below(node.no)
    return lambda run: yes(run) if _true(test(run), node.test, "the condition") else no(run)


def _true(value: Any, node: Node, what: str) -> bool:
    if value is True or value is False:
        return bool(value)
    try:
        return truth(value, what)
    except FunctionError as error:
        raise placed(error, node) from None


COMPILERS: dict[type, Any] = {Unary: _unary, Binary: _binary, Conditional: _conditional}
