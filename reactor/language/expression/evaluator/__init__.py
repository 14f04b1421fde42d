"""Compiles a tree to Python closures. Each takes the ``Evaluation``, and returns the value of its node.

``members`` compiles names and members, ``operations`` operators, conditions and literals of lists and maps, ``calls``
functions and predicates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language.errors import ExpressionError
from reactor.language.expression.evaluation import Closure, CompileChild
from reactor.language.expression.evaluator import calls, members, operations
from reactor.language.expression.limits import MAX_NESTING
from reactor.language.expression.nodes import Node

_COMPILERS: dict[type[Node], Callable[[Any, CompileChild], Closure]] = {
    **members.COMPILERS, **operations.COMPILERS, **calls.COMPILERS,
}  # fmt: skip


def compiled(node: Node, levels: int = MAX_NESTING) -> Closure:
    """Return the closure of ``node``. Raises ExpressionError if the tree is too deep for Python's stack."""
    if levels == 0:
        raise ExpressionError(
            "the expression is nested too deeply",
            node.start,
            node.end,
            "use let for parts of it",
            code="R0305",
        )
    return _COMPILERS[type(node)](node, lambda child: compiled(child, levels - 1))
