"""What the compilers of all nodes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language.expression.errors import ExpressionError, FunctionError
from reactor.language.expression.nodes import Node
from reactor.language.expression.run import Run

Evaluate = Callable[[Run], Any]
Below = Callable[[Node], Evaluate]
"""Compiles a node that lies directly beneath."""


def placed(error: FunctionError, node: Node) -> ExpressionError:
    """``error`` with the span of ``node``."""
    return ExpressionError(error.message, node.start, node.end, error.hint, code=error.code)


def placing(node: Node, evaluate: Evaluate) -> Evaluate:
    """``evaluate``, whose FunctionErrors get the span of ``node``. What fails beneath it has its own span and passes."""

    def guarded(run: Run) -> Any:
        try:
            return evaluate(run)
        except FunctionError as error:
            raise placed(error, node) from None

    return guarded


def nothing(_: Run) -> None:
    """The closure of a part that is left out."""
