"""What can go wrong in an expression.

``ExpressionError`` is for the people who write manifests and has a position. ``FunctionError`` has none: what an
operator or a function raises, because it does not know where it was called. The evaluator turns the second into the
first at the node that called.
"""

from __future__ import annotations

from reactor.errors import ReactorError

_LONGEST = 200
"""Characters of a message; what it quotes may be much longer."""


class FunctionError(ReactorError):
    """An operator or a function can't do what was asked; ``hint`` says how to mend it."""

    code = "R0303"

    def __init__(self, message: str, hint: str | None = None, *, code: str | None = None) -> None:
        shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
        super().__init__(shown, hint if hint is None or len(hint) <= _LONGEST else None, code=code)


class NotBrieflyError(Exception):
    """An evaluation that must be brief is not: it goes on where it holds nobody up. No error of the expression."""


class ExpressionError(ReactorError):
    """An expression is wrong, or failed.

    ``start`` and ``end`` are offsets in characters of the whole text that was handed in, so that a caret can point at
    the culprit inside a YAML value.
    """

    code = "R0303"

    def __init__(
        self, message: str, start: int, end: int, hint: str | None = None, *, code: str | None = None
    ) -> None:
        super().__init__(message, hint, code=code)
        self.start = start
        self.end = end
        self.others: tuple[ExpressionError, ...] = ()
        """What else is wrong with the same text."""

    def moved(self, by: int) -> ExpressionError:
        """The same error for a text in which this expression begins ``by`` characters later."""
        return type(self)(self.message, self.start + by, self.end + by, self.hint, code=self.code)


class ExpressionSyntaxError(ExpressionError):
    """An expression can't be parsed."""

    code = "R0301"
