"""One evaluation: what it has used up, what it holds, and whether it touched a secret."""

from __future__ import annotations

from typing import Any

from reactor.language.expression.bounds import (
    BRIEF_STEPS,
    CHARACTERS_PER_STEP,
    MAX_NESTING,
    MAX_TAKEN,
    WIDE,
    allow_work,
)
from reactor.language.expression.errors import ExpressionError, FunctionError, NotBrieflyError
from reactor.language.expression.kinds import kind
from reactor.language.expression.scope import Scope
from reactor.language.expression.secret import SecretText
from reactor.language.expression.text import text

_SMALL = frozenset((int, float, bool, type(None)))


class Run:
    """The state that the compiled nodes share while they run."""

    __slots__ = (
        "acc",
        "functions",
        "index",
        "item",
        "left",
        "roots",
        "scope",
        "slips",
        "tainted",
        "variables",
    )

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.roots = scope.names
        self.functions = scope.functions
        own = BRIEF_STEPS if scope.is_brief else scope.steps
        self.left = own if scope.left is None else scope.left
        self.tainted = False
        self.slips: list[ExpressionError] = []
        self.variables: dict[str, Any] = {}
        self.item: Any = None
        self.index = 0
        self.acc: Any = None

    @property
    def strict(self) -> bool:
        """Whether a key that is missing is an error."""
        return self.scope.strict

    def charge(self, steps: int) -> None:
        """Pay for work that is about to be done; raises FunctionError when there is nothing left to pay with."""
        self.left -= steps
        if self.left < 0:
            if self.scope.is_brief:
                raise NotBrieflyError
            hint = f"an expression may do {self.scope.steps} steps; make it smaller, or move it into a file"
            raise FunctionError("memory budget exceeded: the expression is too much work", hint, code="R0305")

    def measure(self, value: Any, levels: int = MAX_NESTING) -> None:
        """Pay for looking at all of ``value``, and note a secret in it."""
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

    def take(self, value: Any) -> None:
        """`measure` what a function is about to work on; raises FunctionError when that would hold everything up."""
        if isinstance(value, str):
            allow_work(value)
        before = self.left
        self.measure(value)
        if before - self.left > MAX_TAKEN:
            hint = f"a function takes lists of up to {MAX_TAKEN} elements"
            raise FunctionError("memory budget exceeded: the list is too long to work on", hint, code="R0305")

    def made(self, value: Any) -> Any:
        """``value``, paid for by its size: an operator or a function made it of parts that were paid for."""
        if isinstance(value, str):
            self.charge(_weight(value))
        elif type(value) is list:
            self.charge(len(value))
        return value

    def touch(self, value: Any) -> Any:
        """``value``, noted when it is a secret."""
        if type(value) is SecretText:
            self.tainted = True
        return value

    def shown(self, value: Any) -> str:
        """``value`` as a piece of a text."""
        if type(value) is str:
            return value
        self.measure(value)
        return text(value)

    def given(self, value: Any) -> Any:
        """``value`` for the host: as JSON has them, so times are texts; sharing nothing with the roots, secrets marked."""
        if type(value) not in _SMALL and type(value) is not str:
            self.measure(value)
            return self._copied(value)
        return self._copied(value) if self.tainted else value

    def _copied(self, value: Any) -> Any:
        what = kind(value)
        if what == "array":
            return [self._copied(item) for item in value]
        if what == "map":
            return {self.marked(text(key)): self._copied(value[key]) for key in value}
        if what in ("nil", "bool"):
            return value
        if self.tainted:
            return SecretText(text(value))
        return text(value) if what.startswith("time.") else value

    def marked(self, value: str) -> str:
        """``value``, a secret if this evaluation touched one."""
        return SecretText(value) if self.tainted else value


def _weight(text: str) -> int:
    """What a text costs by its length, and by how wide its characters may be."""
    return (len(text) if text.isascii() else WIDE * len(text)) // CHARACTERS_PER_STEP
