"""A tree compiled to Python closures: each takes the ``Run`` and gives the value of its node.

``members`` has names and members, ``operations`` the operators, ``building`` what is made of parts, ``calls`` the
functions and predicates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language.expression.bounds import MAX_NESTING
from reactor.language.expression.errors import ExpressionError
from reactor.language.expression.evaluator import building, calls, members, operations
from reactor.language.expression.evaluator.closures import Below, Evaluate
from reactor.language.expression.nodes import Node

_COMPILERS: dict[type[Node], Callable[[Any, Below], Evaluate]] = {
    **members.COMPILERS, **operations.COMPILERS, **building.COMPILERS, **calls.COMPILERS,
}  # fmt: skip


def compiled(node: Node, levels: int = MAX_NESTING) -> Evaluate:
    """The closure of ``node``; raises ExpressionError when the tree is deeper than Python's stack should be."""
    if levels == 0:
        raise ExpressionError(
            "the expression is nested too deeply",
            node.start,
            node.end,
            "use let for parts of it",
            code="R0305",
        )
    return _COMPILERS[type(node)](node, lambda child: compiled(child, levels - 1))
