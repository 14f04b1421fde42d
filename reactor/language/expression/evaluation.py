"""One evaluation: the steps that are left, the variables, and whether it touched a secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language.errors import BriefLimitError, ExpressionError, FunctionError
from reactor.language.expression.limits import (
    BYTES_PER_CHARACTER,
    CHARACTERS_PER_STEP,
    MAX_ARGUMENT_STEPS,
    MAX_BRIEF_STEPS,
    MAX_NESTING,
    check_input_length,
)
from reactor.language.expression.nodes import Node
from reactor.language.expression.scope import Scope
from reactor.language.secrets import SecretText
from reactor.language.values import kind, to_string

_SMALL = frozenset((int, float, bool, type(None)))


class Evaluation:
    """The state of one evaluation. All compiled nodes share it."""

    __slots__ = (
        "acc",
        "functions",
        "index",
        "item",
        "roots",
        "scope",
        "steps_left",
        "tainted",
        "variables",
        "warnings",
    )

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.roots = scope.names
        self.functions = scope.functions
        own = MAX_BRIEF_STEPS if scope.is_brief else scope.steps
        self.steps_left = own if scope.steps_left is None else scope.steps_left
        self.tainted = False
        self.warnings: list[ExpressionError] = []
        self.variables: dict[str, Any] = {}
        self.item: Any = None
        self.index = 0
        self.acc: Any = None

    @property
    def strict(self) -> bool:
        """Whether a missing key is an error."""
        return self.scope.strict

    def charge(self, steps: int) -> None:
        """Charge ``steps`` steps. Call it before the work.

        Raises FunctionError if there are not enough steps left; BriefLimitError if the evaluation must be brief.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            if self.scope.is_brief:
                raise BriefLimitError
            hint = f"an expression may do {self.scope.steps} steps; make it smaller, or move it into a file"
            raise FunctionError("memory budget exceeded: the expression is too much work", hint, code="R0305")

    def measure(self, value: Any, levels: int = MAX_NESTING) -> None:
        """Charge for reading all of ``value``, and note whether it contains a secret."""
        cls = type(value)
        if cls in _SMALL:
            return
        if isinstance(value, str):
            self.charge(1 + _weight(value))
            if cls is SecretText:
                self.tainted = True
            return
        what = kind(value)
        if what not in ("array", "map"):
            return
        if levels == 0:
            raise FunctionError(
                "the value is nested too deeply",
                f"at most {MAX_NESTING} lists and maps in each other",
                code="R0305",
            )
        self.charge(1 + len(value))
        for item in value if what == "array" else map(value.__getitem__, value):
            self.measure(item, levels - 1)

    def measure_argument(self, value: Any) -> None:
        """`measure` an argument of a function.

        Raises FunctionError if it is so large that the function would block the process.
        """
        if isinstance(value, str):
            check_input_length(value)
        before = self.steps_left
        self.measure(value)
        if before - self.steps_left > MAX_ARGUMENT_STEPS:
            hint = f"a function takes lists of up to {MAX_ARGUMENT_STEPS} elements"
            raise FunctionError("memory budget exceeded: the list is too long to work on", hint, code="R0305")

    def charge_result(self, value: Any) -> Any:
        """Charge for the size of the result of an operator or function, and return it.

        Its operands were charged before.
        """
        if isinstance(value, str):
            self.charge(_weight(value))
        elif type(value) is list:
            self.charge(len(value))
        return value

    def note_secret(self, value: Any) -> Any:
        """Return ``value``, after noting whether it is a secret."""
        if type(value) is SecretText:
            self.tainted = True
        return value

    def to_string(self, value: Any) -> str:
        """Return ``value`` as a string, to insert it into a string."""
        if type(value) is str:
            return value
        self.measure(value)
        return to_string(value)

    def export(self, value: Any) -> Any:
        """Return a JSON-like deep copy of ``value`` for the host: times become strings, and secrets are marked."""
        if type(value) not in _SMALL and type(value) is not str:
            self.measure(value)
            return self._copied(value)
        return self._copied(value) if self.tainted else value

    def _copied(self, value: Any) -> Any:
        what = kind(value)
        if what == "array":
            return [self._copied(item) for item in value]
        if what == "map":
            return {self.mark_secret(to_string(key)): self._copied(value[key]) for key in value}
        if what in ("nil", "bool"):
            return value
        if self.tainted:
            return SecretText(to_string(value))
        return to_string(value) if what.startswith("time.") else value

    def mark_secret(self, value: str) -> str:
        """Return ``value``; as SecretText if this evaluation touched a secret."""
        return SecretText(value) if self.tainted else value


def _weight(text: str) -> int:
    """Return the cost of a string in steps: proportional to its length, and four times that if it is not ASCII."""
    return (len(text) if text.isascii() else BYTES_PER_CHARACTER * len(text)) // CHARACTERS_PER_STEP


Closure = Callable[[Evaluation], Any]
CompileChild = Callable[[Node], Closure]
"""Compiles a child node."""


def error_at(error: FunctionError, node: Node) -> ExpressionError:
    """Return ``error`` with the span of ``node``."""
    return ExpressionError(error.message, node.start, node.end, error.hint, code=error.code)


def with_error_place(node: Node, evaluate: Closure) -> Closure:
    """Return ``evaluate``, but adding the span of ``node`` to its FunctionErrors.

    Errors of child nodes have a span already.
    """

    def guarded(evaluation: Evaluation) -> Any:
        try:
            return evaluate(evaluation)
        except FunctionError as error:
            raise error_at(error, node) from None

    return guarded


def evaluate_to_nil(_: Evaluation) -> None:
    """Return nil, for an optional part that the expression omits."""
