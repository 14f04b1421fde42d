"""What is made of parts: variables, series, lists and maps."""

from __future__ import annotations

from typing import Any

from reactor.language.expression.errors import FunctionError
from reactor.language.expression.evaluator.closures import Below, Evaluate, placing
from reactor.language.expression.kinds import kind, shown
from reactor.language.expression.nodes import Items, Let, Node, Pairs, Series
from reactor.language.expression.run import Run
from reactor.language.expression.text import text


def _let(node: Let, below: Below) -> Evaluate:
    name, of, body = node.name, below(node.value), below(node.body)

    def let(run: Run) -> Any:
        run.variables[name] = of(run)
        return body(run)

    return let


def _series(node: Series, below: Below) -> Evaluate:
    *others, last = map(below, node.items)

    def series(run: Run) -> Any:
        for item in others:
            item(run)
        return last(run)

    return series


def _items(node: Items, below: Below) -> Evaluate:
    items = [below(item) for item in node.items]
    return lambda run: [item(run) for item in items]


def _pairs(node: Pairs, below: Below) -> Evaluate:
    pairs = [(_key(key, below), below(value)) for key, value in node.pairs]
    return lambda run: {key(run): value(run) for key, value in pairs}


def _key(node: Node, below: Below) -> Evaluate:
    of = below(node)

    def key(run: Run) -> str:
        value = of(run)
        if kind(value) not in ("string", "int", "float", "bool"):
            raise FunctionError(f"a key can't be {shown(value)}")
        return text(value)

    return placing(node, key)


COMPILERS: dict[type, Any] = {Let: _let, Series: _series, Items: _items, Pairs: _pairs}
